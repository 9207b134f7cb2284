const MAX_BODY = 1000
/** Printable ASCII without the single quote: nothing in it can leave the quotes or is invisible. */
const HARMLESS = /^[ -&(-~]*$/

/** The command that would make a delivery again. The key is never shown. */
export function curlOf({ origin, receiptId, text }: { origin: string; receiptId?: string; text: string }): string {
  const inline = text.length <= MAX_BODY && HARMLESS.test(text)
  return [
    `curl -X POST '${origin}/Purchase/update' \\`,
    `  -H "ApiKey: $KEY" -H 'Content-Type: application/json' \\`,
    `  --data-binary ${inline ? `'${text}'` : `@${receiptId}.json`}`,
  ].join('\n')
}

const EXAMPLE = '{"OrderID":"PO-1","Status":2,"Products":[{"Sku":"SKU-1","Quantity":3}]}'

/** Shows how to make the first delivery. */
export const FirstDelivery = ({ text }: { readonly text: string }) => (
  <>
    <p>{text}</p>
    <pre tabIndex={0} role="region" aria-label="curl">
      {curlOf({ origin: location.origin, text: EXAMPLE })}
    </pre>
  </>
)
