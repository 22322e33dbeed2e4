# The worker, the replay and every other command, as a user without rights and without a compiler.
FROM python:3.12-slim

ENV PYTHONUNBUFFERED=1 \
    PIP_NO_CACHE_DIR=1 \
    PIP_DISABLE_PIP_VERSION_CHECK=1 \
    NUMBA_CACHE_DIR=/var/cache/driftway

RUN useradd --system --uid 10001 --create-home driftway \
    && install --directory --owner driftway --group driftway /var/cache/driftway

WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY driftway driftway
COPY learners learners
COPY worker worker
COPY producers producers
COPY workbench workbench
RUN pip install '.[files,statistics]' && rm -rf /src/*

USER driftway
WORKDIR /home/driftway
# Compiled for the processor of the build; on another one a container says so, and compiles at its first start.
RUN driftway warm --learner auto --learner dfop --learner rls --learner arow --learner pa1 --learner perceptron \
    && driftway warm --task regression --learner auto --learner dfop --learner rls
VOLUME /var/cache/driftway
EXPOSE 8000

# For the worker, which serves /healthz; a service that runs another command switches it off.
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/healthz', timeout=2)"]

STOPSIGNAL SIGTERM
ENTRYPOINT ["driftway"]
CMD ["--help"]
