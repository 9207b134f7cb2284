/** What the server tells the page before anybody has signed in. */
export const settings = JSON.parse(document.querySelector('meta[name=settings]').content)
