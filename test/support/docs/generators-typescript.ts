import { registerHooks } from 'node:module'

/** Client generators call TypeScript's JavaScript API, which TypeScript 7 no longer has: they get that of TypeScript 6. */
registerHooks({
  resolve: (specifier, context, next) =>
    next(specifier === 'typescript' ? '@ts-morph/common/dist/typescript.js' : specifier, context),
})
