// The fat tree, and the aggregation trees of a job's hosts in it.
//
// A node of layer l has an index for each layer: below l one of `up`, from l on one of `down`. Hosts
// are layer 0. A tree is its root; on the way up to it every host takes the root's own indices.
#pragma once

#include <algorithm>
#include <vector>

#include "bits.h"
#include "setup.h"

struct Tree {
    Int root = 0;
    std::vector<int> switches;
    std::vector<int> resources;  // what no two trees may share: switches, or links above the hosts
    Bits bits;                   // the same
};

class FatTree {
    std::vector<int> down, up;
    std::vector<int> first_switch, first_link;  // of each layer
    bool ports;

  public:
    int hosts = 1, switches = 0, links = 0;

    explicit FatTree(const Setup& s)
        : down(s.down, s.down + s.layers), up(s.up, s.up + s.layers), ports(s.ports) {
        for (int count : down) hosts *= count;
        int nodes = hosts;
        first_switch.push_back(0);
        first_link.push_back(0);
        for (int layer = 1; layer <= layers(); ++layer) {
            nodes = nodes / down[layer - 1] * up[layer - 1];
            first_switch.push_back(switches);
            first_link.push_back(links);
            switches += nodes;
            if (layer < layers()) links += nodes * up[layer];
        }
    }

    int layers() const { return int(down.size()); }
    int resources() const { return ports ? links : switches; }
    int leaf(int host) const { return host / down[0]; }

    // The layer of the trees' roots.
    int root_layer(const std::vector<int>& job) const {
        int layer = 0, width = 1;
        auto [low, high] = std::minmax_element(job.begin(), job.end());
        for (; *low / width != *high / width; ++layer) width *= down[layer];
        return layer;
    }

    Int roots(const std::vector<int>& job) const {
        Int count = 1;
        for (int layer = root_layer(job) - 1; layer >= 0; --layer) count *= up[layer];
        return count;
    }

    Tree tree(const std::vector<int>& job, Int root) const {
        Tree made;
        made.root = root;
        made.bits = Bits(resources());
        int below = 1, width = 1, path = 0;  // product of up, product of down, index by `up`
        int top = root_layer(job);
        for (int layer = 1; layer <= top; ++layer) {
            path += int(root / below % up[layer - 1]) * below;
            below *= up[layer - 1];
            width *= down[layer - 1];
            std::vector<int> groups;
            for (int host : job) groups.push_back(host / width);
            std::sort(groups.begin(), groups.end());
            groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
            for (int group : groups) {
                int node = group * below + path;
                made.switches.push_back(first_switch[layer] + node);
                if (ports && layer < top) {
                    int port = int(root / below % up[layer]);
                    made.resources.push_back(first_link[layer] + node * up[layer] + port);
                }
            }
        }
        if (!ports) made.resources = made.switches;
        for (int one : made.resources) made.bits.set(one);
        return made;
    }

    // What a leaf carries: the load of its switch, or of the least loaded of its links upwards.
    double leaf_load(int leaf, const std::vector<double>& load) const {
        int each = ports ? (layers() > 1 ? up[0] * up[1] : 0) : up[0];
        if (!each) return 0;
        return *std::min_element(load.begin() + leaf * each, load.begin() + (leaf + 1) * each);
    }
};
