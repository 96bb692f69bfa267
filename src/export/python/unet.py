class ResBlock(nn.Module):
    """Two convolutions with the time and class embeddings added between; (B, in, H, W) to (B, out, H, W)."""

    def __init__(self, inputs, outputs, embed, groups, dropout):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, padding=1)
        self.norm1 = nn.GroupNorm(groups, outputs)
        self.time_proj = nn.Linear(embed, outputs)
        self.class_proj = nn.Linear(embed, outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1)
        self.norm2 = nn.GroupNorm(groups, outputs)
        self.dropout = nn.Dropout(dropout)
        self.shortcut = nn.Conv2d(inputs, outputs, 1) if inputs != outputs else nn.Identity()

    def forward(self, x, time, label):
        shift = self.time_proj(F.silu(time)) + self.class_proj(F.silu(label))
        h = F.silu(self.norm1(self.conv1(x)) + shift[:, :, None, None])
        h = self.dropout(self.norm2(self.conv2(h)))
        return F.silu(h + self.shortcut(x))


class AttentionBlock(nn.Module):
    """Self-attention over all pixels, added to the input."""

    def __init__(self, channels, heads, groups):
        super().__init__()
        self.heads = heads
        self.norm = nn.GroupNorm(groups, channels)
        self.qkv = nn.Conv2d(channels, 3 * channels, 1)
        self.proj = nn.Conv2d(channels, channels, 1)

    def forward(self, x):
        b, c, height, width = x.shape
        qkv = self.qkv(self.norm(x)).reshape(b, 3, self.heads, c // self.heads, height * width)
        q, k, v = qkv.transpose(3, 4).unbind(1)
        h = F.scaled_dot_product_attention(q, k, v)
        return x + self.proj(h.transpose(2, 3).reshape(b, c, height, width))


class Level(nn.Module):
    """Two residual blocks, attention if wanted, and a change of resolution."""

    def __init__(self, inputs, outputs, options, attention):
        super().__init__()
        embed, heads, groups, dropout = options
        self.res = nn.ModuleList([ResBlock(size, outputs, embed, groups, dropout) for size in (inputs, outputs)])
        self.attn = AttentionBlock(outputs, heads, groups) if attention else None
        self.downsample = self.upsample = None

    def forward(self, h, time, label):
        for block in self.res:
            h = block(h, time, label)
        return self.attn(h) if self.attn is not None else h


class Middle(nn.Module):
    """Residual block, attention, residual block at the lowest resolution."""

    def __init__(self, channels, options):
        super().__init__()
        embed, heads, groups, dropout = options
        self.res = nn.ModuleList([ResBlock(channels, channels, embed, groups, dropout) for _ in range(2)])
        self.attn = AttentionBlock(channels, heads, groups)

    def forward(self, h, time, label):
        return self.res[1](self.attn(self.res[0](h, time, label)), time, label)


class Model(nn.Module):
    """Estimates the noise in images: x (B, C, H, W), time t (B,) in 0 … STEPS - 1, label (B,), CLASSES for "no class"."""

    def __init__(self):
        super().__init__()
        options = (EMBED, HEADS, GROUPS, DROPOUT)
        last = len(WIDTHS) - 1
        self.time_mlp = nn.Sequential(nn.Linear(EMBED, 4 * EMBED), nn.SiLU(), nn.Linear(4 * EMBED, EMBED))
        self.class_embed = nn.Embedding(CLASSES + 1, EMBED)
        self.conv_in = nn.Conv2d(CHANNELS, WIDTHS[0], 3, padding=1)
        self.down, self.up = nn.ModuleList(), nn.ModuleList()
        for at, width in enumerate(WIDTHS):
            level = Level(WIDTHS[max(at - 1, 0)], width, options, ATTENTION[at])
            if at < last:
                level.downsample = nn.Conv2d(width, width, 3, stride=2, padding=1)
            self.down.append(level)
        self.mid = Middle(WIDTHS[-1], options)
        for at, width in reversed(list(enumerate(WIDTHS))):
            level = Level(WIDTHS[min(at + 1, last)] + width, width, options, ATTENTION[at])
            if at > 0:
                level.upsample = nn.Conv2d(width, width, 3, padding=1)
            self.up.append(level)
        self.norm_out = nn.GroupNorm(GROUPS, WIDTHS[0])
        self.conv_out = nn.Conv2d(WIDTHS[0], CHANNELS, 3, padding=1)

    def forward(self, x, t, label):
        time, label = self.time_mlp(time_features(t)), self.class_embed(label)
        h, skips = self.conv_in(x), []
        for level in self.down:
            h = level(h, time, label)
            skips.append(h)
            h = level.downsample(h) if level.downsample is not None else h
        h = self.mid(h, time, label)
        for level in self.up:
            h = level(torch.cat([h, skips.pop()], dim=1), time, label)
            if level.upsample is not None:
                h = level.upsample(F.interpolate(h, scale_factor=2, mode="bilinear", align_corners=True))
        return self.conv_out(F.silu(self.norm_out(h)))


def time_features(t):
    """concat(sin, cos) of t · exp(-i · ln(10000) / (EMBED/2 - 1)), i = 0 … EMBED/2 - 1"""
    half = EMBED // 2
    rate = torch.exp(torch.arange(half, device=t.device) * (-math.log(10000) / (half - 1)))
    angle = t.float()[:, None] * rate
    return torch.cat([angle.sin(), angle.cos()], dim=1)
