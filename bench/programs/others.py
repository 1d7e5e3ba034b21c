"""Trains models that frameworks bring, which no trust file was made from: others.py resnet|vit|bert|t5|gcn|gp [STEPS]. With
COVERAGE=FILE the GPU's time of each kernel goes there, for coverage.py."""
import json
import os
import sys

from common import digest, median, report, timed, torch_setup

torch = torch_setup()
torch.use_deterministic_algorithms(False)
what, steps = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 6
device = "cuda"


def images(name):
    import timm
    model = timm.create_model(name, num_classes=100).to(device)
    x, y = torch.randn(64, 3, 224, 224, device=device), torch.arange(64, device=device) % 100
    return model.parameters(), lambda: torch.nn.functional.cross_entropy(model(x), y)


def words(kind):
    import transformers
    x = torch.arange(16 * 256, device=device).view(16, 256) % 1000
    if kind == "bert":
        model = transformers.BertForMaskedLM(transformers.BertConfig(num_hidden_layers=6)).to(device)
    else:
        model = transformers.T5ForConditionalGeneration(transformers.T5Config(decoder_start_token_id=0)).to(device)
    return model.parameters(), lambda: model(input_ids=x, labels=x).loss


def graph():
    from torch_geometric.nn import GCNConv, SAGEConv
    nodes = 200_000
    x, edges = torch.randn(nodes, 256, device=device), torch.randint(0, nodes, (2, 2_000_000), device=device)
    one, two = GCNConv(256, 256).to(device), SAGEConv(256, 64).to(device)
    return [*one.parameters(), *two.parameters()], lambda: two(one(x, edges).relu(), edges).square().mean()


def process():
    import gpytorch
    x = torch.linspace(0, 1, 4096, device=device).unsqueeze(-1)
    y = torch.sin(x * 20).squeeze(-1)
    likelihood = gpytorch.likelihoods.GaussianLikelihood().to(device)

    class Model(gpytorch.models.ExactGP):
        def __init__(self):
            super().__init__(x, y, likelihood)
            self.mean, self.kernel = gpytorch.means.ConstantMean(), gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

        def forward(self, x):
            return gpytorch.distributions.MultivariateNormal(self.mean(x), self.kernel(x))

    model = Model().to(device)
    model.train(), likelihood.train()
    loss = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    return model.parameters(), lambda: -loss(model(x), y)


parameters, loss_of = {"resnet": lambda: images("resnet50"), "vit": lambda: images("vit_small_patch16_224"),
                       "bert": lambda: words("bert"), "t5": lambda: words("t5"), "gcn": graph, "gp": process}[what]()
optimizer = torch.optim.AdamW(list(parameters), lr=1e-4)
losses = []


def step():
    loss = loss_of()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    losses.append(loss.detach())


times = [timed(step, torch.cuda.synchronize) for _ in range(steps)]
if "COVERAGE" in os.environ:
    from torch.profiler import ProfilerActivity, profile
    with profile(activities=[ProfilerActivity.CUDA]) as seen:
        timed(step, torch.cuda.synchronize)
    with open(os.environ["COVERAGE"], "w") as file:
        json.dump({e.key: e.self_device_time_total for e in seen.key_averages() if e.self_device_time_total > 0}, file)
# Atomic additions come in any order.
report(digest(f"{losses[0].item():.3f}"), torch.cuda.max_memory_reserved(), step=median(times[2:]))
