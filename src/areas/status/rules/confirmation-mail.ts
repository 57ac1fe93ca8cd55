// Limits and text of confirmation mails. Strangers can type any address, so the organization's title must not become a link or a message.

/** Confirmation mails allowed. The recipient's limit counts over all organizations. */
export const confirmationLimits = {
  recipient: { day: 5 },
  client: { hour: 20 },
  organization: { hour: 100, day: 500 },
};

const maxNameLength = 40;
/** More digits could be a telephone number, which phones turn into a link. */
const maxDigits = 6;

/**
 * A title without characters that mail programs turn into a link; letters, digits and a few signs stay. NFKC first, because other
 * characters look like a dot or a letter.
 */
export function plainName(title: string): string {
  const plain = title.normalize('NFKC').replaceAll(/[^\p{L}\p{M}\p{N} &'’()!?,-]/gu, ' ');
  const isNumber = (plain.match(/\p{N}/gu)?.length ?? 0) > maxDigits;
  const words = (isNumber ? plain.replaceAll(/\p{N}/gu, '') : plain).split(' ').filter(Boolean).join(' ');
  const letters = [...words];
  return letters.length <= maxNameLength ? words : `${letters.slice(0, maxNameLength).join('').trim()}…`;
}

/** Domains whose mailboxes have both addresses. */
const domainAliases: Record<string, string> = { 'googlemail.com': 'gmail.com' };

/** Normalizes addresses that probably share a mailbox: case, Unicode form, invisible characters, dots and a `+` tag are ignored. */
export function mailboxOf(address: string): string {
  const plain = address
    .normalize('NFKC')
    .replaceAll(/\p{Cf}/gu, '')
    .toLowerCase();
  const at = plain.lastIndexOf('@');
  const [name, domain] = [plain.slice(0, at), plain.slice(at + 1)];
  const local = name.split('+', 1)[0]!.replaceAll('.', '');
  return `${local || name}@${domainAliases[domain] ?? domain}`;
}
