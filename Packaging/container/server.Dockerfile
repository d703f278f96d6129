# webimage-server with webimage-decoder, as the Debian packages that `make deb` makes. From the top folder of the repository:
#
#   docker build --file Packaging/container/server.Dockerfile --tag webimage-server .
#
# Scripts/check-container carries the steps out in roots of Debian 12, without Docker.
FROM swift:6.3-bookworm AS build
WORKDIR /source
COPY . .
ENV WEBIMAGE_WITHOUT=gtk,drawing
RUN Scripts/setup build deb
RUN make deb && mv .build/without-gtk-drawing/deb /packages

FROM debian:bookworm-slim
COPY --from=build /packages/webimage-server_*.deb /packages/webimage-decoder_*.deb /packages/
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates /packages/*.deb \
    && rm -rf /packages /var/lib/apt/lists/* /var/cache/apt/*.bin
# A cache, and a folder for uploads: the only places that it writes to.
RUN install --directory --owner=10001 --group=10001 --mode=0700 /var/cache/webimage-server /var/lib/webimage-server
USER 10001:10001
ENV IMGPROXY_BIND=:8080 WEBIMAGE_CACHE=/var/cache/webimage-server TMPDIR=/var/cache/webimage-server MALLOC_ARENA_MAX=2
VOLUME ["/var/cache/webimage-server", "/var/lib/webimage-server"]
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s \
    CMD ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/8080 && printf 'GET /ready HTTP/1.0\\r\\n\\r\\n' >&3 && head -n 1 <&3 | grep -q ' 200 '"]
ENTRYPOINT ["webimage-server"]
