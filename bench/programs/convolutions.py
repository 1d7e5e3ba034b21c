"""A residual network of convolutions, trained; convolutions.py [WIDTH] [STEPS]"""
import sys
from common import digest, median, repeated, report, torch_setup
torch = torch_setup()
torch.backends.cudnn.deterministic = True
from torch import nn
width, steps = ([int(a) for a in sys.argv[1:]] + [128, 8][len(sys.argv) - 1:])[:2]
class Block(nn.Module):
    def __init__(self, w):
        super().__init__()
        self.f = nn.Sequential(nn.Conv2d(w, w, 3, padding=1, bias=False), nn.BatchNorm2d(w), nn.ReLU(inplace=True),
                               nn.Conv2d(w, w, 3, padding=1, bias=False), nn.BatchNorm2d(w))
    def forward(self, x): return torch.relu(x + self.f(x))
layers = [nn.Conv2d(3, width, 7, 2, 3), nn.BatchNorm2d(width), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
w = width
for stage in range(4):
    layers += [Block(w), Block(w)]
    if stage < 3: layers += [nn.Conv2d(w, w * 2, 1, 2)]; w *= 2
model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(w, 1000)).cuda()
opt = torch.optim.SGD(model.parameters(), lr=1e-2, momentum=0.9)
x = torch.rand(32, 3, 224, 224, device="cuda"); y = torch.randint(0, 1000, (32,), device="cuda")
losses = []
def step():
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward(); opt.step(); opt.zero_grad(set_to_none=True); losses.append(loss.detach())
times = repeated(step, torch.cuda.synchronize, steps)
report(digest(repr([v.item() for v in losses])), torch.cuda.max_memory_reserved(), step=median(times[1:]))
