def outer(a, b):
    """Tensor product of the last axes: (..., p), (..., q) to (..., p q)."""
    return (a.unsqueeze(-1) * b.unsqueeze(-2)).flatten(-2)


def signatures(path):
    """Levels 1 … DEPTH of the signatures of all prefixes, by Chen's identity: (B, T, C) to (B, T - 1, C + C² + …)."""
    step = path[:, 1:] - path[:, :-1]
    powers = [step]  # step^(tensor level) / level!
    for level in range(2, DEPTH + 1):
        powers.append(outer(powers[-1], step) / level)
    levels = []
    for level in range(DEPTH):
        change = powers[level]
        for at in range(level):
            before = F.pad(levels[level - at - 1][:, :-1], (0, 0, 1, 0))
            change = change + outer(before, powers[at])
        levels.append(change.cumsum(1))
    return torch.cat(levels, dim=2)


class Model(nn.Module):
    """Generates paths from noise paths x (B, 2, T), times and values: the values after the first point, (B, T - 1)."""

    def __init__(self):
        super().__init__()
        channels = 2 + AUGMENT
        self.augment1 = nn.Sequential(nn.Conv1d(2, HIDDEN, 1), nn.ReLU(), nn.Conv1d(HIDDEN, HIDDEN, 1), nn.ReLU(),
                                      nn.Conv1d(HIDDEN, AUGMENT, 1))
        self.augment2 = nn.Conv1d(sum(channels**level for level in range(1, DEPTH + 1)), 1, 1)

    def forward(self, x):
        path = torch.cat([x, self.augment1(x)], dim=1).transpose(1, 2)
        return self.augment2(signatures(path).transpose(1, 2)).flatten(1)


def noise_paths(batch):
    """Paths of dX = DRIFT X dt + dW from 0 in Euler steps, as times and values, (B, 2, POINTS)."""
    steps = POINTS - 1
    values = [torch.zeros(batch)]
    for _ in range(steps):
        values.append(values[-1] * (1 + DRIFT / steps) + torch.randn(batch) / math.sqrt(steps))
    return torch.stack([torch.linspace(0, 1, POINTS).expand(batch, -1), torch.stack(values, dim=1)], dim=1)
