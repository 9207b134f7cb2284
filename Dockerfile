# One stage: there is nothing to build, and what npm needs to install is in the image anyway.
FROM node:26.13-slim

ENV NODE_ENV=production \
    HOST=0.0.0.0 \
    DATABASE_URL=sqlite:/data/teslim.db
WORKDIR /app

COPY package.json package-lock.json .npmrc ./
COPY tools/node/package.json tools/node/
COPY tools/esbuild/package.json tools/esbuild/
RUN npm ci --omit=dev --ignore-scripts && npm cache clean --force

COPY bin bin
COPY src src
COPY tools/warm-cache.js tools/
COPY LICENSE ./
# /docs shows these guides.
COPY docs/suppliers.md docs/api-customers.md docs/

# The code belongs to root. The service owns its data, which nobody else may read, and its compile cache until that is filled.
# 1000 is the image's user `node`: a number, because Kubernetes cannot tell from a name that it is not root.
RUN mkdir -p /data node_modules/.cache/teslim && chmod 0700 /data && chown 1000:1000 /data node_modules/.cache/teslim
USER 1000:1000
# Runs as the user that serves, because Node keeps a cache for each user. Nothing in /app is written after this.
RUN node tools/warm-cache.js

VOLUME /data
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s CMD ["node", "/app/bin/teslim.js", "health"]
ENTRYPOINT ["node", "--disable-sigusr1", "/app/bin/teslim.js"]
CMD ["serve"]

ARG REVISION=unknown
LABEL org.opencontainers.image.title="teslim" \
      org.opencontainers.image.description="Token login for API customers and durable purchase-order deliveries from suppliers" \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.revision="$REVISION" \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.base.name="docker.io/library/node:26.13-slim"
