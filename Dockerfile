# pteb-eval with vLLM for nodes with NVIDIA GPUs: docs/environments.md says how to use it.
# The wheels bring CUDA 13; the driver (580 or newer) is the node's. A tag can move: for an image that
# stays the same, add the digest of the base that you pulled, --build-arg BASE=python:…@sha256:…
ARG BASE=python:3.13.7-slim-trixie
FROM ${BASE}

# A C compiler: Triton and FlashInfer build kernels when a model is loaded.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends g++ ninja-build procps \
    && rm -rf /var/lib/apt/lists/*

WORKDIR /opt/pteb-eval
# These are all versions, so nothing is left to resolve, and a change of the code costs a small layer.
COPY envs/constraints-gpu.txt ./
RUN pip install --no-cache-dir --no-deps --requirement constraints-gpu.txt
COPY . .
RUN pip install --no-cache-dir --no-deps --no-build-isolation . \
    && useradd --uid 1000 --create-home pteb

# Mount a scratch folder at /scratch: models stay there. What is compiled goes to the node itself,
# since two nodes that write one compile cache spoil it. Nothing is reported to anybody.
ENV NVIDIA_VISIBLE_DEVICES=all \
    NVIDIA_DRIVER_CAPABILITIES=compute,utility \
    HF_HOME=/scratch/huggingface \
    HF_HUB_DISABLE_TELEMETRY=1 \
    XDG_CACHE_HOME=/tmp/cache \
    VLLM_CACHE_ROOT=/tmp/cache/vllm \
    TRITON_CACHE_DIR=/tmp/cache/triton \
    TORCHINDUCTOR_CACHE_DIR=/tmp/cache/inductor \
    FLASHINFER_WORKSPACE_BASE=/tmp/cache \
    VLLM_NO_USAGE_STATS=1

USER 1000
# The project's folder: Snakefile, configuration and results.
WORKDIR /project
CMD ["pteb-eval", "--help"]
