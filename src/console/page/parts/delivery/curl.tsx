import { curlCommand, quoted } from '../../../../page/curl.ts'
import { type TextKey, t } from '../../lib/texts.ts'

const MAX_BODY = 1000
/** Nothing in it is invisible. */
const PRINTABLE = /^[ -~]*$/

/** The command that would make a delivery again. The key is never shown. */
export function curlOf({ origin, receiptId, text }: { origin: string; receiptId?: string; text: string }): string {
  const inline = text.length <= MAX_BODY && PRINTABLE.test(text)
  return curlCommand({
    url: `${origin}/Purchase/update`,
    headers: ['"ApiKey: $KEY"', quoted('Content-Type: application/json')],
    ...(inline ? { body: text } : { file: `${receiptId}.json` }),
  })
}

const EXAMPLE = '{"OrderID":"PO-1","Status":2,"Products":[{"Sku":"SKU-1","Quantity":3}]}'

export const FirstDelivery = ({ text }: { readonly text: TextKey }) => (
  <>
    <p>{t(text)}</p>
    <pre tabIndex={0} role="region" aria-label="curl">
      {curlOf({ origin: location.origin, text: EXAMPLE })}
    </pre>
  </>
)
