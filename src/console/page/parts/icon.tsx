/** Drawn on a grid of 16 by 16, as lines in the colour of the text beside them. */
const LINES = {
  now: 'M1.5 8.5h3l2-5.5 3 10 2-4.5h3',
  deliveries: 'M8 1.5v7M5 6l3 3 3-3M1.75 9.5v4h12.5v-4',
  orders: 'M3.5 1.75h9v12.5L10.25 13 8 14.25 5.75 13 3.5 14.25zM6 5.25h4M6 8.25h4',
  customers:
    'M6 7.25a2.6 2.6 0 1 0 0-5.2 2.6 2.6 0 0 0 0 5.2zM1.25 13.75c.3-2.6 2-4 4.75-4s4.45 1.4 4.75 4M10.75 2.3a2.6 2.6 0 0 1 0 4.7M12.25 10c1.5.7 2.3 1.9 2.5 3.75',
  refusals: 'M8 14.25a6.25 6.25 0 1 0 0-12.5 6.25 6.25 0 0 0 0 12.5zM3.6 3.6l8.8 8.8',
  webhooks: 'M14.25 1.75 1.75 6.5l5 2.75 2.75 5zM14.25 1.75l-7.5 7.5',
  audit: 'M8 4.75V8l2.25 1.5M2.25 8A5.75 5.75 0 1 0 4 3.9L2 5.75M2 2.25v3.5h3.5',
  health: 'M8 13.75 2.5 8.25a3.25 3.25 0 0 1 4.6-4.6l.9.9.9-.9a3.25 3.25 0 0 1 4.6 4.6z',
  copy: 'M5.75 5.75h8v8h-8zM3.25 10.25h-1v-8h8v1',
  close: 'M4 4l8 8M12 4l-8 8',
  filter: 'M1.75 4h12.5M4.25 8h7.5M6.75 12h2.5',
  check: 'M2.75 8.5l3.5 3.5 7-7.5',
} as const

type IconName = keyof typeof LINES

export const isIcon = (name: string): name is IconName => Object.hasOwn(LINES, name)

export const Icon = ({ name }: { readonly name: IconName }) => (
  <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
    <path d={LINES[name]} />
  </svg>
)

/** The sign of the product is the icon of the page, too. */
export const Mark = () => <img src={document.querySelector<HTMLLinkElement>('link[rel=icon]')?.href} alt="" />
