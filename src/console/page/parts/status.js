import { html } from '../lib/html.js'
import { t } from '../lib/texts.js'

export const STATUSES = [0, 1, 2, 3]

/** A Status by its number and in words. */
export const statusBadge = (status) =>
  html`<span class="badge status-${status}">${status} · ${t(`status.${status}`)}</span>`
