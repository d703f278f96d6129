# A server of yours that uses the package, with webimage-decoder beside it. Your package and swift-web-image are in one folder, as the guide on
# installing has it; from there, with the name of your folder and of your program, which listens on port 8080:
#
#   docker build --file swift-web-image/Packaging/container/app.Dockerfile --build-arg FOLDER=app --build-arg PROGRAM=App --tag app .
#
# Scripts/check-container carries the steps out in roots of Debian 12, without Docker.
FROM swift:6.3-bookworm AS build
ARG FOLDER=app
ARG PROGRAM=App
ENV WEBIMAGE_WITHOUT=gtk,drawing,server
WORKDIR /source
COPY . .
RUN swift-web-image/Scripts/setup build
# The decoder is built with the program, because the program's target names its product.
RUN swift build --package-path "$FOLDER" --configuration release --static-swift-stdlib --product "$PROGRAM"
RUN install -D --target-directory=/programs "$FOLDER/.build/release/webimage-decoder" \
    && install "$FOLDER/.build/release/$PROGRAM" /programs/program

FROM debian:bookworm-slim
# What WebImage needs, then what the decoder loads for a format.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates libcurl4 libdeflate0 libisal2 libjpeg62-turbo liblcms2-2 \
        liblz4-1 libpng16-16 libseccomp2 libsqlite3-0 libwebp7 \
        libavif15 libheif1 libjxl0.7 libtiff6 libopenjp2-7 librsvg2-2 \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt/*.bin
COPY --from=build /programs/ /app/
RUN install --directory --owner=10001 --group=10001 --mode=0700 /var/cache/app
USER 10001:10001
ENV XDG_CACHE_HOME=/var/cache/app TMPDIR=/var/cache/app MALLOC_ARENA_MAX=2
VOLUME ["/var/cache/app"]
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s CMD ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/8080"]
ENTRYPOINT ["/app/program"]
