/** Copies a text. Outside a secure context browsers offer only the old way. Returns whether it worked. */
export async function copy(text: string): Promise<boolean> {
  if ('clipboard' in navigator) {
    return navigator.clipboard.writeText(text).then(
      () => true,
      () => false,
    )
  }
  const area = Object.assign(document.createElement('textarea'), { value: text })
  // Nothing outside a modal dialog can be selected.
  const place = document.querySelector('dialog:modal') ?? document.body
  place.append(area)
  area.select()
  const done = document.execCommand('copy')
  area.remove()
  return done
}
