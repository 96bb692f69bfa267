class DenseNorm(nn.Module):
    """A linear layer, SiLU, layer norm; (B, in) to (B, out)."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.dense = nn.Linear(inputs, outputs)
        self.norm = nn.LayerNorm(outputs, eps=1e-3)

    def forward(self, x):
        return self.norm(F.silu(self.dense(x)))


class Model(nn.Module):
    """Estimates the noise in signals: x (B, VALUES), time t (B,) in 0 … STEPS - 1, numbers of the event phi (B, NUMBERS)."""

    def __init__(self):
        super().__init__()
        half = HIDDEN // 2
        self.time_embed = nn.Embedding(STEPS, TIME)
        self.time_mlp = nn.Sequential(nn.Linear(TIME, TIME), nn.SiLU(), nn.Linear(TIME, TIME), nn.SiLU())
        self.phi_mlp = nn.Sequential(DenseNorm(NUMBERS, half), DenseNorm(half, half))
        self.signal = DenseNorm(VALUES, HIDDEN)
        first = nn.Sequential(DenseNorm(TIME + half + HIDDEN, HIDDEN))
        others = [nn.Sequential(DenseNorm(HIDDEN, HIDDEN), DenseNorm(HIDDEN, HIDDEN)) for _ in range(LAYERS - 1)]
        self.blocks = nn.ModuleList([first, *others])
        self.dropout = nn.Dropout(DROPOUT)
        self.out = nn.Linear(HIDDEN, VALUES)

    def forward(self, x, t, phi):
        h = torch.cat([self.time_mlp(self.time_embed(t)), self.phi_mlp(phi), self.signal(x)], dim=1)
        for at, block in enumerate(self.blocks):
            h = self.dropout(block(h) + h if at > 0 else block(h))
        return self.out(h)
