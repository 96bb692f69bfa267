def attend(q, k, v):
    """Attention of HEADS heads without projections, (B, 1, D) each."""
    q, k, v = (x.unflatten(2, (HEADS, -1)).transpose(1, 2) for x in (q, k, v))
    if ATTENTION == "softmax":
        out = F.scaled_dot_product_attention(q, k, v)
    else:
        q, k = F.elu(q) + 1, F.elu(k) + 1
        out = q @ (k.transpose(2, 3) @ v) / (q @ k.sum(2).unsqueeze(-1) + 1e-6)
    return out.transpose(1, 2).flatten(2)


class Attention(nn.Module):
    """Attention of the state to the input, with four projections."""

    def __init__(self):
        super().__init__()
        self.q, self.k, self.v, self.out = (nn.Linear(HIDDEN, HIDDEN) for _ in range(4))

    def forward(self, h, x):
        return self.out(attend(self.q(h), self.k(x), self.v(x)))


class Asymmetric(nn.Module):
    """f(h, x) = norm3(u + ff2 gelu(ff1 norm2(u))) with u = h + attention(norm1(h), x); (B, 1, D)."""

    def __init__(self):
        super().__init__()
        self.norm1, self.norm2, self.norm3 = (nn.LayerNorm(HIDDEN) for _ in range(3))
        self.attn = Attention()
        self.ff1, self.ff2 = nn.Linear(HIDDEN, 4 * HIDDEN), nn.Linear(4 * HIDDEN, HIDDEN)

    def forward(self, h, x):
        u = h + self.attn(self.norm1(h), x)
        return self.norm3(u + self.ff2(F.gelu(self.ff1(self.norm2(u)))))


class Symmetric(nn.Module):
    """f(h, x) = tanh(h + Wqᵀ A(Wq h, Wk x, Wk x) + W1ᵀ tanh(W1 h)), each W with its bias where it is not transposed; (B, 1, D)."""

    def __init__(self):
        super().__init__()
        self.q, self.k, self.ff1 = nn.Linear(HIDDEN, HIDDEN), nn.Linear(HIDDEN, HIDDEN), nn.Linear(HIDDEN, 4 * HIDDEN)

    def forward(self, h, x):
        k = self.k(x)
        attended = attend(self.q(h), k, k) @ self.q.weight
        return torch.tanh(h + attended + torch.tanh(self.ff1(h)) @ self.ff1.weight)


class Model(nn.Module):
    """Classifies x (B, INPUTS) at the fixed point of its block: h = (1 - GAMMA) h + GAMMA f(h, x), from zeros, until the change of all
    states of the batch is below TOLERANCE, at most ITERATIONS times."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Linear(INPUTS, HIDDEN)
        self.block = Symmetric() if SYMMETRIC else Asymmetric()
        self.head = nn.Linear(HIDDEN, CLASSES)

    def forward(self, x):
        if x.dim() == 4:  # images, pixel by pixel
            x = x.permute(0, 2, 3, 1).flatten(1)
        x = self.embedding(x).unsqueeze(1)
        h = torch.zeros_like(x)
        for _ in range(ITERATIONS):
            before, h = h, (1 - GAMMA) * h + GAMMA * self.block(h, x)
            # A trace (of torch.onnx) cannot end early: it has all iterations.
            if not torch.jit.is_tracing() and (h - before).norm() < TOLERANCE:
                break
        return self.head(h.squeeze(1))
