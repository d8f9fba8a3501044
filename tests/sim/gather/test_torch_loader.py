"""Compares tensors that come through an engine with PyTorch's own indexing.

PyTorch is not installed with the suite, for its size; what needs it is skipped, in one line.
"""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: its loader was not tested")

from torch.utils.data import DataLoader  # noqa: E402

from sim.gather.host.torch_loader import GatherLoader, RowDataset, UnifiedTensor  # noqa: E402
from tests.sim.gather.posting_card import Card, producers  # noqa: E402

TYPES = ("float16", "bfloat16", "float32", "int64", "bool", "complex64")


def some_features(rng, kind):
    """Draw a tensor of any shape that does not lie row-major."""
    shape = [int(size) for size in rng.integers(1, 8, 2)]
    content = torch.from_numpy(rng.integers(0, 9, (*shape, 50)))
    return content.to(getattr(torch, kind)).transpose(0, 2)


@pytest.mark.parametrize("kind", TYPES)
def test_a_unified_tensor(rng, kind):
    features = some_features(rng, kind)
    for content in (features, features[:, 0, 0], features[:, :1, :1]):
        unified = UnifiedTensor(Card().attach(), content, most=30)
        idxs = torch.from_numpy(rng.integers(-50, 50, rng.integers(0, 99)))
        for idx in (idxs, idxs.int(), idxs.tolist(), idxs.numpy(), slice(40, 99), 3, -1):
            result = unified[idx]
            assert result.dtype == content.dtype
            assert torch.equal(result, content[idx])
        mask = torch.ones(50, dtype=torch.bool)
        for wrong in (50, torch.tensor([-51]), mask, mask.byte(), torch.tensor([0.5])):
            with pytest.raises(IndexError):
                unified[wrong]


def test_a_data_set_gathers_a_mini_batch_at_once(rng):
    card = Card()
    features, labels = some_features(rng, "float16"), torch.arange(50)
    data = RowDataset(UnifiedTensor(card.attach(), features), labels)
    batches = list(DataLoader(data, batch_size=16, shuffle=True))
    assert all(torch.equal(rows, features[which]) for rows, which in batches)
    assert len(batches) == len(card.carried) == 4
    row, label = data[-1]
    assert torch.equal(row, features[-1])
    assert label == 49
    with pytest.raises(ValueError, match="there are 50 rows"):
        RowDataset(data.features, labels[1:])
    with pytest.raises(Exception, match="num_workers must be 0"):
        next(iter(DataLoader(data, num_workers=1)))


def test_a_loader_ends_when_its_loop_does(rng):
    features = some_features(rng, "bfloat16")
    sampler = DataLoader(torch.arange(50), batch_size=8, shuffle=True)
    loader = GatherLoader(UnifiedTensor(Card().attach(), features), sampler, lambda batch: batch)
    assert len(loader) == 7
    for rows, which in loader:
        assert torch.equal(rows, features[which])
        break
    assert producers() == []
    assert sum(torch.equal(rows, features[which]) for rows, which in loader) == 7
