# The program as one file (decision 0193), on a base with libc, libstdc++ and certificates, and no shell.
FROM oven/bun:1.4.5 AS build
WORKDIR /app
# Dependencies first, so that a change to the source does not install them again.
COPY package.json bun.lock bunfig.toml tsconfig.json ./
RUN bun install --production --frozen-lockfile
COPY data/migrations ./data/migrations
COPY data/seed ./data/seed
COPY docs ./docs
COPY scripts ./scripts
COPY src ./src
ARG COMMIT=unknown
ARG COMMIT_DATE=unknown
# A volume takes the owner and mode that its folder has here.
RUN bun scripts/compile.ts --outfile /image/program/usr/local/bin/meterhouse \
  && mkdir -p /image/volume/data && chmod 0700 /image/volume/data

FROM gcr.io/distroless/cc-debian12
COPY --from=build /image/program/ /
COPY --from=build --chown=10001:10001 /image/volume/ /
COPY LICENSE /usr/share/doc/meterhouse/LICENSE
USER 10001:10001
# DuckDB is unpacked into DATA_DIR/cache: the root may be read-only.
ENV NODE_ENV=production UV_THREADPOOL_SIZE=16 DATA_DIR=/data
VOLUME /data
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=5s --start-period=15s CMD ["/usr/local/bin/meterhouse", "health"]
# Without a shell between, SIGTERM reaches the server, which then answers what is in flight.
ENTRYPOINT ["/usr/local/bin/meterhouse"]
CMD ["serve"]
