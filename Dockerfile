# Dependencies in a stage of their own, so that a change to the source does not install them again.
FROM oven/bun:1.4.5 AS dependencies
WORKDIR /app
COPY package.json bun.lock bunfig.toml ./
RUN bun install --production --frozen-lockfile

FROM oven/bun:1.4.5
WORKDIR /app
COPY --from=dependencies /app/node_modules ./node_modules
COPY package.json bunfig.toml tsconfig.json LICENSE ./
COPY data/migrations ./data/migrations
COPY data/seed ./data/seed
COPY src ./src
RUN mkdir -m 0700 /data && chown bun:bun /data
USER bun
# Long usage queries must not hold up other native calls: the thread pool is read before any code runs.
ENV NODE_ENV=production UV_THREADPOOL_SIZE=16 DATA_DIR=/data
VOLUME /data
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=3s --start-period=15s \
  CMD ["bun", "-e", "process.exit((await fetch('http://127.0.0.1:' + (process.env.PORT || 3000) + '/health').catch(() => ({}))).ok ? 0 : 1)"]
# Without a shell between, SIGTERM reaches the server, which then answers what is in flight.
CMD ["bun", "src/main.ts", "serve"]
