"""The transformer that some of the programs train."""
import torch
from torch import nn


class Transformer(nn.Module):
    words = 8192

    def __init__(self, layers, width):
        super().__init__()
        self.embedding = nn.Embedding(self.words, width)
        self.blocks = nn.ModuleList([
            nn.TransformerEncoderLayer(width, 16, 4 * width, dropout=0.0, batch_first=True, norm_first=True)
            for _ in range(layers)])
        self.head = nn.Linear(width, self.words, bias=False)

    def forward(self, x):
        h = self.embedding(x)
        for block in self.blocks:
            h = block(h)
        return self.head(h)

    def loss(self, x):
        return nn.functional.cross_entropy(self(x).view(-1, self.words), x.view(-1))
