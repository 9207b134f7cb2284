import htm from 'htm'
import { h } from 'preact'

/** Makes elements: html`<p class=${name}>${text}</p>`. Text always becomes a text node. */
export const html = htm.bind(h)
