import packageJson from '../../package.json' with { type: 'json' }

/** The version of teslim, as every place shows it. */
export const VERSION: string = packageJson.version
