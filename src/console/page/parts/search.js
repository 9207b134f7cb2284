import { html } from '../lib/html.js'
import { t } from '../lib/texts.js'

/** Finds a receipt, an order, a customer, a key or a request. */
export const SearchBox = () => html`
  <form class="search" role="search" onSubmit=${(event) => event.preventDefault()}>
    <input id="search" type="search" aria-label=${t('search.label')} placeholder=${t('search.hint')} autocomplete="off" spellcheck="false" />
  </form>
`
