"""Train GraphSAGE with PyTorch on rows that a simulated gather engine fetches from host memory.

Only the features come by another way than usual: ``GatherLoader`` lets the engine gather those of
the next mini-batch while PyTorch trains on this one. Needs PyTorch, of any build.
"""

# %% A graph like ogbn-products, with features, and labels that neighbours' features decide.
import numpy as np
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from ingather import torch_loader
from sim.switchgnn.graphs.families import products
from sim.workloads.mini_batch import neighbours

VERTICES, FEATURES, CLASSES = 300, 24, 3
FAN_OUTS, BATCH, EPOCHS = (4, 2), 50, 5

torch.manual_seed(1)
rng = np.random.default_rng(1)
graph = products(scale=VERTICES / 60_000)
features = torch.randn(VERTICES, FEATURES, dtype=torch.float16)
sums = torch.from_numpy(graph @ features.float().numpy())
labels = (sums @ torch.randn(FEATURES, CLASSES)).argmax(1)


# %% The sampler draws neighbours of each vertex of a mini-batch, and neighbours of those.
def sampler():
    """Yield mini-batches: the vertices whose features are needed, and pairs of them by layer."""
    for seeds in rng.permutation(VERTICES).reshape(-1, BATCH):
        places, layers = {vertex: number for number, vertex in enumerate(seeds.tolist())}, []
        for fan_out in FAN_OUTS:
            pairs = [
                (place, places.setdefault(neighbour, len(places)))
                for vertex, place in list(places.items())
                for neighbour in neighbours(graph, vertex, fan_out, rng).tolist()
            ]
            layers.append(torch.tensor(pairs).T)
        yield torch.tensor(list(places)), layers


# %% GraphSAGE with means: a layer has weights for a vertex itself and for its neighbours' mean.
sizes = [FEATURES, 32, CLASSES]
itself = nn.ModuleList(map(nn.Linear, sizes, sizes[1:]))
around = nn.ModuleList(map(nn.Linear, sizes, sizes[1:]))


def scores_of(rows, layers):
    """Return scores [vertex, class], first those of the vertices that the mini-batch is of."""
    for number, (to, of) in enumerate(reversed(layers)):
        rows = rows.relu() if number else rows
        count = torch.zeros(len(rows)).index_add_(0, to, torch.ones(len(to)))
        means = torch.zeros(rows.shape).index_add_(0, to, rows[of]) / count.clamp(min=1)[:, None]
        rows = itself[number](rows) + around[number](means)
    return rows[:BATCH]


# %% Training: rows of each mini-batch come from the engine, and are compared with plain indexing.
optimiser = torch.optim.Adam([*itself.parameters(), *around.parameters()], lr=0.02)
compared = 0
with torch_loader.simulated_engine() as engine:
    unified = torch_loader.UnifiedTensor(engine, features)
    for epoch in range(EPOCHS):
        right, losses = 0, []
        for rows, batch in torch_loader.GatherLoader(unified, sampler(), lambda batch: batch[0]):
            vertices, layers = batch
            assert torch.equal(rows, features[vertices])
            compared += 1
            scores, expected = scores_of(rows.float(), layers), labels[vertices[:BATCH]]
            loss = cross_entropy(scores, expected)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            losses.append(loss.item())
            right += int((scores.argmax(1) == expected).sum())
        print(f"epoch {epoch}: loss {np.mean(losses):.3f}, accuracy {right / VERTICES:.1%}")
    counts = engine.counters()
print(f"{counts['rows']} rows came in {counts['reads']} reads, {counts['read_bytes']} bytes")
print(f"all rows of {compared} mini-batches equal features[vertices]")
