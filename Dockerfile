# Every command of Driftway, for a user without rights, on a read-only root file system, with compiled kernels.
#
#   docker build --tag driftway:0.1.0 --build-arg COMMIT="$(git rev-parse HEAD)" .
#
# The base is pinned by the digest of its index, for all processors. A newer one: --build-arg PYTHON=python:3.12-slim-bookworm
ARG PYTHON=python:3.12.11-slim-bookworm@sha256:519591d6871b7bc437060736b9f7456b8731f1499a57e22e6c285135ae657bf7

# The wheel, and those of the release's dependencies. Nothing else of this stage is in the image.
FROM ${PYTHON} AS build
ENV PIP_NO_CACHE_DIR=1 \
    PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /src
COPY . .
ARG COMMIT=
ENV DRIFTWAY_BUILD_COMMIT=${COMMIT}
ARG EXTRAS=registry
RUN pip wheel --wheel-dir /wheels --constraint constraints.txt ".[${EXTRAS}]"

FROM ${PYTHON} AS warm
ARG COMMIT=
ARG EXTRAS=registry
LABEL org.opencontainers.image.title="Driftway" \
      org.opencontainers.image.description="Online learning under concept drift as a Kafka stream-processing worker" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.revision="${COMMIT}"

ENV PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    NUMBA_CACHE_DIR=/var/cache/driftway

RUN --mount=type=bind,from=build,source=/wheels,target=/wheels \
    pip install --no-cache-dir --root-user-action ignore --no-index --find-links /wheels "driftway[${EXTRAS}]" \
    && groupadd --gid 10001 driftway \
    && useradd --uid 10001 --gid driftway --create-home driftway \
    && install --directory --owner driftway --group driftway --mode 755 /var/cache/driftway
COPY --chmod=755 deploy/image /usr/local/libexec/driftway

USER 10001:10001
WORKDIR /home/driftway
# Kernels for the processor CPU, with the same bits on each: generic runs on every one of the image's kind, x86-64-v3 is
# as fast as a build for one's own (docs/decisions/0063). Those of other learners: --build-arg WARM="--learner knn_win".
ARG CPU=generic
ENV NUMBA_CPU_NAME=${CPU} \
    NUMBA_CPU_FEATURES=
ARG WARM="--learner auto --learner dfop --learner rls --learner arow --learner pa1 --learner perceptron"
# Events of one's own fields, labels that come later and regression have kernels of their own.
RUN driftway warm ${WARM} \
    && driftway warm ${WARM} --feature amount --feature 'country:one-of=de|fr' --labels false,true --label-wait 10000 \
    && driftway warm --task regression --learner auto --learner dfop --learner rls \
    && driftway warm --task regression --learner auto --feature amount --label price --label-wait 10000

FROM warm
# Once more for other users, as OpenShift or --user choose them: code is executed from one's own folders and root's only.
COPY --from=warm --chown=0:0 --chmod=755 /var/cache/driftway/kernels /usr/local/share/driftway/kernels
EXPOSE 8000

# Asks a worker's /healthz; a container that runs another command is healthy.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=6 \
    CMD ["python", "/usr/local/libexec/driftway/health.py"]

STOPSIGNAL SIGTERM
ENTRYPOINT ["driftway"]
CMD ["--help"]
