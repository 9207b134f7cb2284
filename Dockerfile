FROM node:26-slim

ENV NODE_ENV=production \
    HOST=0.0.0.0 \
    DATABASE_URL=sqlite:/data/teslim.db
WORKDIR /app

COPY package.json package-lock.json .npmrc ./
COPY tools/node/package.json tools/node/
RUN npm ci --omit=dev --ignore-scripts && npm cache clean --force

COPY bin bin
COPY src src
COPY tools/warm-cache.js tools/
COPY openapi.yaml LICENSE ./

# The code stays root's; the service owns its data and its compile cache only.
RUN mkdir -p /data node_modules/.cache/teslim && chown node:node /data node_modules/.cache/teslim
USER node
RUN node tools/warm-cache.js

VOLUME /data
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s \
  CMD ["node", "-e", "require(process.env.TESLIM_TLS_CERT ? 'https' : 'http').get({ host: '127.0.0.1', port: process.env.PORT || 3000, path: '/readyz', rejectUnauthorized: false }, ({ statusCode }) => process.exit(statusCode === 200 ? 0 : 1)).on('error', () => process.exit(1))"]
ENTRYPOINT ["node", "/app/bin/teslim.js"]
CMD ["serve"]
