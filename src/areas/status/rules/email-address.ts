/** The common part of RFC 5321: a local part without spaces or quotes, and a host name with a dot. */
const shape = /^[^\s@"(),:;<>[\]\\]{1,64}@(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9][a-z0-9-]{0,61}[a-z0-9]$/i;
// biome-ignore lint/suspicious/noControlCharactersInRegex: they would end a line of a header
const control = /[\u0000-\u001f\u007f]/;

/** The address in a form field, or undefined. */
export function addressOf(typed: string): string | undefined {
  const address = typed.trim();
  return address.length <= 254 && !control.test(address) && address.isWellFormed() && shape.test(address) ? address : undefined;
}
