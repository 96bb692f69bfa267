def field():
    """Drift or diffusion: (t, X) to a number."""
    return nn.Sequential(nn.Linear(2, HIDDEN), nn.Tanh(), nn.Linear(HIDDEN, HIDDEN), nn.Tanh(), nn.Linear(HIDDEN, 1))


class Model(nn.Module):
    """dX = f(t, X) dt + g(t, X) dW on [0, 1] in Euler-Maruyama steps: normal variates z (B, 1) of the start and e (B, steps) to the
    values after each step (B, steps)."""

    def __init__(self):
        super().__init__()
        self.drift, self.diffusion = field(), field()
        self.initial = nn.Sequential(nn.Linear(1, HIDDEN), nn.Tanh(), nn.Linear(HIDDEN, 1))

    def forward(self, z, e):
        steps = POINTS - 1
        dt, x, values = 1 / steps, self.initial(z), []
        for at in range(steps):
            tx = torch.cat([torch.full_like(x, at * dt), x], dim=1)
            x = x + self.drift(tx) * dt + self.diffusion(tx) * (math.sqrt(dt) * e[:, at : at + 1])
            values.append(x)
        return torch.cat(values, dim=1)
