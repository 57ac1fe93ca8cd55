// What a first mail may say. It goes to an address that anybody typed, so the words of an organization must be neither a link nor a message.

/** First mails that may leave; the recipient's are counted over all organizations. */
export const confirmationLimits = {
  recipient: { day: 5 },
  client: { hour: 20 },
  organization: { hour: 100, day: 500 },
};

const maxNameLength = 40;
/** More digits than these could be a telephone number, which phones turn into a link. */
const maxDigits = 6;

/**
 * A title without anything that mail programs turn into a link: letters, figures and a few signs are left. NFKC first, since other signs look
 * like a dot, or a letter, and are read as one.
 */
export function plainName(title: string): string {
  const plain = title.normalize('NFKC').replaceAll(/[^\p{L}\p{M}\p{N} &'’()!?,-]/gu, ' ');
  const isNumber = (plain.match(/\p{N}/gu)?.length ?? 0) > maxDigits;
  const words = (isNumber ? plain.replaceAll(/\p{N}/gu, '') : plain).split(' ').filter(Boolean).join(' ');
  const letters = [...words];
  return letters.length <= maxNameLength ? words : `${letters.slice(0, maxNameLength).join('').trim()}…`;
}

/** Domains of one provider whose mailboxes have both addresses. */
const domainAliases: Record<string, string> = { 'googlemail.com': 'gmail.com' };

/** Addresses that probably lead to one mailbox: letters of either case and any form, without letters that cannot be seen, with or without a
 *  tag after `+`, with or without dots. */
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
