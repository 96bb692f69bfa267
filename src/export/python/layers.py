class Flat(nn.Module):
    """The values of every sample as a row, pixel by pixel."""

    def forward(self, x):
        return x.permute(0, 2, 3, 1).flatten(1) if x.dim() == 4 else x.flatten(1)


class Residual(nn.Module):
    """shortcut(x) + layers(x)"""

    def __init__(self, layers, shortcut):
        super().__init__()
        self.layers, self.shortcut = layers, shortcut

    def forward(self, x):
        return self.shortcut(x) + self.layers(x)


class Parallel(nn.Module):
    """Branches on one input; their results concatenated, added or multiplied."""

    def __init__(self, join, *branches):
        super().__init__()
        self.join, self.branches = join, nn.ModuleList(branches)

    def forward(self, x):
        results = [branch(x) for branch in self.branches]
        if self.join == "concat":
            return torch.cat(results, 1 if results[0].dim() == 4 else -1)
        if any(one.dim() == 4 for one in results):  # a row counts at every pixel of an image
            results = [one[:, :, None, None] if one.dim() == 2 else one for one in results]
        joined = results[0]
        for one in results[1:]:
            joined = joined + one if self.join == "add" else joined * one
        return joined


class GlobalAveragePool(nn.Module):
    """(B, C, H, W) to (B, C)"""

    def forward(self, x):
        return x.mean((2, 3))


class Transpose(nn.Module):
    """(B, T, F) to (B, F, T)"""

    def forward(self, x):
        return x.transpose(1, 2)


class Tokens(nn.Module):
    """(B, C, H, W) to (B, H · W, C)"""

    def forward(self, x):
        return x.flatten(2).transpose(1, 2)


class Patches(nn.Module):
    """(B, C, H, W) to (B, H/p · W/p, p · p · C), channels innermost"""

    def __init__(self, size):
        super().__init__()
        self.size = size

    def forward(self, x):
        b, c, h, w = x.shape
        x = x.reshape(b, c, h // self.size, self.size, w // self.size, self.size)
        return x.permute(0, 2, 4, 3, 5, 1).flatten(3).flatten(1, 2)


class PositionEmbedding(nn.Module):
    """Adds a vector to every position."""

    def __init__(self, tokens, features):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(tokens, features))

    def forward(self, x):
        return x + self.weight[: x.shape[1]]


class ClassToken(nn.Module):
    """Puts a token before all others."""

    def __init__(self, features):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(features))

    def forward(self, x):
        return torch.cat([self.weight.expand(x.shape[0], 1, -1), x], 1)


class FirstToken(nn.Module):
    """(B, T, F) to (B, F)"""

    def forward(self, x):
        return x[:, 0]


class MeanOverTokens(nn.Module):
    """(B, T, F) to (B, F)"""

    def forward(self, x):
        return x.mean(1)


class Attention(nn.Module):
    """Multi-head self-attention with the parameters of nn.MultiheadAttention."""

    def __init__(self, features, heads, head_width, causal, bias):
        super().__init__()
        inner = heads * head_width
        self.heads, self.causal = heads, causal
        self.in_proj_weight = nn.Parameter(torch.empty(3 * inner, features))
        nn.init.xavier_uniform_(self.in_proj_weight)
        self.in_proj_bias = nn.Parameter(torch.zeros(3 * inner)) if bias else None
        self.out_proj = nn.Linear(inner, features, bias=bias)

    def forward(self, x):
        qkv = F.linear(x, self.in_proj_weight, self.in_proj_bias)
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in qkv.chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.out_proj(y.transpose(1, 2).flatten(2))


class OverChannels(nn.Module):
    """A norm over the channels of every pixel."""

    def __init__(self, norm):
        super().__init__()
        self.weight, self.bias = norm.weight, getattr(norm, "bias", None)
        self.eps = norm.eps

    def forward(self, x):
        x = x.permute(0, 2, 3, 1)
        if self.bias is None:
            x = F.rms_norm(x, self.weight.shape, self.weight, self.eps)
        else:
            x = F.layer_norm(x, self.weight.shape, self.weight, self.bias, self.eps)
        return x.permute(0, 3, 1, 2)
