# The image that runs in a cluster: `floodplain serve sizing`, `floodplain serve admission`, `floodplain doctor`.
#
#   docker build --target service .
#
# Any Debian with python3 of 3.11 or later and its venv module may be the base: .ci/image builds on one made by
# debootstrap. By digest: a tag would be another image tomorrow. To move on, write the digest of a newer one here.
ARG BASE=python:3.12-slim@sha256:78387bc3881b8273120a12ebe6c1ab22b018ccc2c9adf565ae1ac9b536e184ea

FROM ${BASE} AS build
COPY requirements/service.txt /build/
# Settings of pip (an index of one's own, its certificates) come as secrets and stay out of the image:
# --secret id=pip,src=pip.conf --secret id=certificates,src=bundle.pem
RUN --mount=type=secret,id=pip,target=/run/secrets/pip --mount=type=secret,id=certificates,target=/run/secrets/certificates \
    set -eu; \
    if [ -s /run/secrets/pip ]; then export PIP_CONFIG_FILE=/run/secrets/pip; fi; \
    if [ -s /run/secrets/certificates ]; then export PIP_CERT=/run/secrets/certificates; fi; \
    python3 -m venv /opt/floodplain; \
    /opt/floodplain/bin/pip install --quiet --disable-pip-version-check --no-cache-dir --no-compile \
      --only-binary=:all: --require-hashes -r /build/service.txt; \
    /opt/floodplain/bin/pip uninstall --quiet --yes pip setuptools 2>/dev/null; \
    rm -f /opt/floodplain/bin/activate* /opt/floodplain/bin/Activate* /opt/floodplain/bin/pip*; \
    # Descriptions of all of AWS: what is called stays.
    cd /opt/floodplain/lib/python3.*/site-packages/botocore/data; \
    find . -mindepth 1 -maxdepth 1 -type d \
      ! -name ec2 ! -name events ! -name pricing ! -name sqs ! -name sso ! -name sso-oidc ! -name sts \
      -exec rm -r {} +
COPY floodplain /build/floodplain
# Bytecode that is not looked at again: the root file system is read-only, and files' times are the builder's.
RUN set -eu; \
    packages=$(/opt/floodplain/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))'); \
    cp -r /build/floodplain "$packages/floodplain"; \
    printf '#!/opt/floodplain/bin/python -I\nfrom floodplain.cli import main\n\nmain()\n' > /opt/floodplain/bin/floodplain; \
    chmod 0755 /opt/floodplain/bin/floodplain; \
    /opt/floodplain/bin/python -m compileall -q -j 0 --invalidation-mode unchecked-hash "$packages"; \
    chmod -R a+rX,go-w /opt/floodplain

FROM ${BASE} AS service
COPY --from=build /opt/floodplain /opt/floodplain
ENV PATH=/opt/floodplain/bin:/usr/local/bin:/usr/bin:/bin PYTHONDONTWRITEBYTECODE=1 LANG=C.UTF-8 HOME=/
WORKDIR /
# By number, so that Kubernetes can tell that it is not root.
USER 65532:65532
EXPOSE 8080 8081 8443
ENTRYPOINT ["floodplain"]
CMD ["serve", "sizing"]
