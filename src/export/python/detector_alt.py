class Model(nn.Module):
    """Estimates the noise in signals: x (B, VALUES), time t (B,) in 0 … STEPS - 1, numbers of the event phi (B, NUMBERS)."""

    def __init__(self):
        super().__init__()
        self.time_embed = nn.Embedding(STEPS, TIME)
        self.time_proj = nn.Linear(TIME, TIME)
        self.phi_proj = nn.Linear(NUMBERS, 128)
        self.signal_proj = nn.Linear(VALUES, HIDDEN)
        widths = [TIME + 128 + HIDDEN] + [HIDDEN] * LAYERS
        self.hidden = nn.ModuleList([nn.Linear(*sizes) for sizes in zip(widths, widths[1:])])
        self.out = nn.Linear(HIDDEN, VALUES)

    def forward(self, x, t, phi):
        parts = [self.time_proj(self.time_embed(t)), self.phi_proj(phi), self.signal_proj(x)]
        h = F.silu(torch.cat(parts, dim=1))
        for layer in self.hidden:
            h = F.silu(layer(h))
        return self.out(h)
