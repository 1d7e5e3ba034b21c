"""The networks that models.py runs."""
import torch
from torch import nn
from torch.nn import functional as F


class Adapted(nn.Module):
    """A frozen product in bfloat16, and beside it one of rank 16."""

    def __init__(self, inner, outer):
        super().__init__()
        weight = torch.randn(outer, inner, device="cuda", dtype=torch.bfloat16) / inner**0.5
        self.weight = nn.Parameter(weight, requires_grad=False)
        self.down = nn.Parameter(torch.randn(16, inner, device="cuda") / inner**0.5)
        self.up = nn.Parameter(torch.zeros(outer, 16, device="cuda"))

    def forward(self, x):
        return F.linear(x, self.weight) + F.linear(F.linear(x, self.down), self.up)


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.inner, self.outer = Adapted(width, 3 * width), Adapted(width, width)
        self.first, self.second = Adapted(width, 4 * width), Adapted(4 * width, width)
        self.heads = width // 64

    def forward(self, x):
        batch, length, width = x.shape
        parts = self.inner(F.layer_norm(x, (width,))).chunk(3, -1)
        q, k, v = (p.view(batch, length, self.heads, -1).transpose(1, 2) for p in parts)
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.outer(a.transpose(1, 2).reshape(x.shape))
        return x + self.second(F.gelu(self.first(F.layer_norm(x, (width,)))))


class Residual(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.norms = nn.ModuleList([nn.GroupNorm(16, inner), nn.GroupNorm(16, outer)])
        self.convolutions = nn.ModuleList(nn.Conv2d(i, outer, 3, padding=1) for i in (inner, outer))
        self.skip = nn.Conv2d(inner, outer, 1) if inner != outer else nn.Identity()

    def forward(self, x):
        y = x
        for norm, convolution in zip(self.norms, self.convolutions):
            y = convolution(F.silu(norm(y)))
        return self.skip(x) + y


class Attention(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm = nn.GroupNorm(16, channels)
        self.inner, self.outer = nn.Conv2d(channels, 3 * channels, 1), nn.Conv2d(channels, channels, 1)

    def forward(self, x):
        batch, channels, high, wide = x.shape
        q, k, v = (p.reshape(batch, channels // 64, 64, -1).transpose(2, 3).contiguous()
                   for p in self.inner(self.norm(x)).chunk(3, 1))
        return x + self.outer(F.scaled_dot_product_attention(q, k, v).transpose(2, 3).reshape(x.shape))


def doubled(x):
    """Twice as high and wide, without an operator whose gradient adds up in any order."""
    batch, channels, high, wide = x.shape
    x = x[:, :, :, None, :, None].expand(batch, channels, high, 2, wide, 2)
    return x.reshape(batch, channels, 2 * high, 2 * wide)


class UNet(nn.Module):
    def __init__(self, channels):
        super().__init__()
        c = channels
        self.begin, self.end = nn.Conv2d(4, c, 3, padding=1), nn.Conv2d(c, 4, 3, padding=1)
        self.down = nn.ModuleList([Residual(c, c), Residual(c, 2 * c), Residual(2 * c, 4 * c)])
        self.middle = nn.Sequential(Residual(4 * c, 4 * c), Attention(4 * c), Residual(4 * c, 4 * c), Attention(4 * c))
        self.up = nn.ModuleList([Residual(8 * c, 2 * c), Residual(4 * c, c), Residual(2 * c, c)])

    def forward(self, x):
        x, kept = self.begin(x), []
        for i, layer in enumerate(self.down):
            x = layer(F.avg_pool2d(x, 2) if i else x)
            kept.append(x)
        x = self.middle(x)
        for i, layer in enumerate(self.up):
            x = layer(torch.cat([doubled(x) if i else x, kept.pop()], 1))
        return self.end(x)


class Doubled(nn.Module):
    def forward(self, x):
        return doubled(x)


class Sage(nn.Module):
    """Two layers of a node's own features and the mean of its neighbours'."""

    def __init__(self, width):
        super().__init__()
        self.own, self.others = (nn.ModuleList(nn.Linear(width, width) for _ in range(2)) for _ in range(2))

    def forward(self, x, neighbours):
        for own, others in zip(self.own, self.others):
            x = F.relu(own(x) + others(F.embedding_bag(neighbours, x.float(), mode="mean")))
        return x
