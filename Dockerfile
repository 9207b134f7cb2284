FROM node:26.13-slim AS build
WORKDIR /build

# Of what development needs, the bundler alone.
COPY package.json package-lock.json .npmrc ./
COPY tools/esbuild/package.json tools/esbuild/
RUN npm pkg delete devDependencies && npm pkg set devDependencies.esbuild-programs=file:tools/esbuild && npm ci --ignore-scripts

COPY tsconfig.json README.md LICENSE ./
COPY docs/suppliers.md docs/api-customers.md docs/errors.md docs/
COPY docs/tr docs/tr
COPY bin bin
COPY tools/build tools/build
COPY src src
# The commit, which nothing here can tell: .git is not copied.
ARG REVISION=
RUN npm run build -- --container --out /app --commit "$REVISION"

# Compiles as the user that serves, because Node keeps a cache for each user, and at the path where the program will be.
RUN mkdir -p /app/node_modules/.cache/teslim && chown 1000:1000 /app/node_modules/.cache/teslim
USER 1000:1000
WORKDIR /app
RUN node /build/tools/build/container/warm-cache.js && \
    node --no-allocation-site-pretenuring /build/tools/build/container/warm-cache.js && \
    chmod -R a+r node_modules/.cache/teslim/*


FROM node:26.13-slim

ENV NODE_ENV=production \
    HOST=0.0.0.0 \
    DATABASE_URL=sqlite:/data/teslim.db
WORKDIR /app

# The code and what was compiled of it belong to root. The service owns its data, which nobody else may read.
# 1000 is the image's user `node`: a number, because Kubernetes cannot tell from a name that it is not root.
RUN mkdir -p /data && chmod 0700 /data && chown 1000:1000 /data && ln -s /app/bin/teslim.js /usr/local/bin/teslim
COPY --from=build /app ./
USER 1000:1000

VOLUME /data
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s CMD ["node", "/app/bin/teslim.js", "health"]
ENTRYPOINT ["node", "--disable-sigusr1", "/app/bin/teslim.js"]
CMD ["serve"]

# The same arguments make the same labels. `docker build --build-arg REVISION=$(git rev-parse HEAD) --build-arg CREATED=$(git log -1 --format=%cI) .`
ARG REVISION=
ARG CREATED=1970-01-01T00:00:00Z
LABEL org.opencontainers.image.title="teslim" \
      org.opencontainers.image.description="Takes in what suppliers report about purchase orders, and loses none of it" \
      org.opencontainers.image.version="1.0.0" \
      org.opencontainers.image.revision="${REVISION:-unknown}" \
      org.opencontainers.image.created="$CREATED" \
      org.opencontainers.image.source="https://git.example.com/teslim.git" \
      org.opencontainers.image.url="https://git.example.com/teslim" \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.base.name="docker.io/library/node:26.13-slim"
