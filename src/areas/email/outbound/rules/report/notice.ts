import { addressIn } from './status.ts';

/** The human-readable text about one recipient. */
export interface Section {
  address: string;
  text: string;
}

const maxSections = 20;
/** Lines per recipient. */
const maxLines = 60;
/** Header lines at the start of a returned message. */
const header =
  /^(?:>?[ \t]?)(?:return-path|received|from|to|cc|date|subject|message-id|reply-to|sender|mime-version|content-type|content-transfer-encoding|dkim-signature|user-agent|x-[\w-]{1,60}|arc-[\w-]{1,40}|list-[\w-]{1,40}):/i;
const announced =
  /^[ \t>]*(?:[-=*_+]{2,}.{0,20})?(?:the )?(?:below this line|(?:this is )?(?:the )?(?:a )?copy of|(?:original|returned|unsent|undelivered|rejected|included|attached|your|start of)[^.:]{0,30} (?:message|mail|header)|(?:message|mail) header|original message|header of the|returned (?:message|mail)|unsent message|(?:the )?message text)(?! (?:to|you|that|was|wasn't|is|has|have|had|could|couldn't|cannot|can't|did|will|sent|attempted)\b)/i;

/** The notice without the returned message, whose text is not the reporter's. */
export function cutOriginal(text: string): string {
  const lines = text.split('\n', 4_000);
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at]!.slice(0, 200);
    // The signature of a forwarding system: scanner notes and disclaimers.
    if (line === '-- ' && at > 0) return lines.slice(0, at).join('\n');
    if (announced.test(line) && hasHeader(lines, at + 1, 6, 1)) return lines.slice(0, at).join('\n');
    if (/^(?:return-path|received|x-[\w-]+|arc-[\w-]+|dkim-signature):/i.test(line) && hasHeader(lines, at, 12, 3))
      return lines.slice(0, at).join('\n');
  }
  return text;
}

const footer =
  /^\W{0,80}(?:(?:this|the) (?:e-?mail|message|mail|communication|transmission)\b[^\n]{0,120}\b(?:scanned|checked|swept|confidential|privileged|intended)\b|(?:virus[- ])?scanned (?:by|for|with)\b|disclaimer\b|confidentiality\b|legal notice\b|privileged\b)/i;
const replyCode = /(?:^|\D)[45]\d\d[ -]\S|\b[45]\.\d{1,3}\.\d{1,3}\b/;

/** The notice without a gateway's footer (scanner notes, disclaimers), which says nothing about this delivery. */
export function cutFooter(text: string): string {
  const lines = text.split('\n', 4_000);
  const at = lines.findIndex((line, n) => n > 0 && footer.test(line.slice(0, 300)));
  if (at < 0 || lines.slice(at).some((line) => replyCode.test(line.slice(0, 300)))) return text;
  return lines.slice(0, at).join('\n');
}

/** Whether at least `least` of the next lines are header lines. */
function hasHeader(lines: readonly string[], from: number, within: number, least: number): boolean {
  let seen = 0;
  for (let at = from; at < Math.min(lines.length, from + within); at++)
    if (header.test(lines[at]!.slice(0, 200)) && ++seen >= least) return true;
  return false;
}

/** A line that begins with an address starts the section of that address. */
const begins =
  /^[ \t]*(?:(?:[-*•]|>>>)[ \t]+)?(?:(?:\d{3}[ -])?(?:\d\.\d\.\d )?|(?:final|original)-recipient:[ \t]*(?:rfc822;)?[ \t]*|recipients?:?[ \t]+|user[ \t]+)<?(?:smtp:)?([^\s<>;:,"()[\]@]{1,64}@[\w.-]{1,255}[\w])/i;
/** "Unknown user: bob@far.example": the reason precedes the address. */
const ends =
  /^[ \t]*(?:recipient address|[^:@]{0,60}\b(?:unknown|invalid|exceeds|undeliver\w*|deliver\w*|failed|full)\b[^:@]{0,60})(?::[ \t]*|[ \t]+)<?([^\s<>;:,"()[\]@]{1,64}@[\w.-]{1,255}[\w])>?[.:]?[ \t]*$/i;
/** Not `>>> bob@far.example <bob@far.example>`, which names a recipient. */
const transcript = /^[ \t]*(?:>>>(?![ \t]+[^\s@<>]{1,64}@[^\s<>]{1,255}[ \t]+<)|<<<|(?:\.\.\. )?while talking to)/i;
/** A heading: the following transcript belongs to this recipient. */
const heading = /^[ \t]*(?:<[^\s<>@]{1,64}@[\w.-]{1,255}>:|>>>[ \t]+[^\s<>@]{1,64}@[\w.-]{1,255}[ \t]+<[^\s<>]{1,320}>)[ \t]*$/;

/** Splits a notice into sections per recipient and the common text before the first. */
export function readSections(text: string, sender: string | undefined): { common: string; sections: Section[] } {
  const sections = new Map<string, string[]>();
  const common: string[] = [];
  let current = common;
  /** A transcript before its result: it belongs to the next address, or else to the recipient that it names. */
  let transcriptLines: string[] = [];
  for (const line of text.split('\n', 4_000)) {
    const isHeaded = current !== common && heading.test(current[0]?.slice(0, 800) ?? '');
    if (transcript.test(line) && !isHeaded) {
      if (/^[ \t]*(?:\.\.\. )?while/i.test(line)) transcriptLines = [];
      if (transcriptLines.length < maxLines) transcriptLines.push(line);
      continue;
    }
    const start = line.slice(0, 400);
    const address = start.includes('@') ? addressIn((begins.exec(start) ?? ends.exec(start))?.[1]) : undefined;
    if (address !== undefined && address.toLowerCase() !== sender && (sections.has(address) || sections.size < maxSections)) {
      current = sections.get(address) ?? [];
      sections.set(address, current);
      for (const transcriptLine of transcriptLines) current.push(transcriptLine);
      transcriptLines = [];
    } else if (/^\d{3}[ -]/.test(line) && current !== common && !isHeaded) {
      // A reply about a tried host or another recipient.
      if (transcriptLines.length < maxLines) transcriptLines.push(line);
      continue;
    }
    if (current.length < maxLines) current.push(line);
  }
  const named = addressIn(transcriptLines.findLast((line) => /^[ \t]*>>> ?rcpt/i.test(line)));
  const isAmbiguous = sections.size > 1 && transcriptLines.some((line) => transcript.test(line));
  const owner = (named === undefined ? undefined : sections.get(named)) ?? (isAmbiguous ? undefined : current);
  for (const transcriptLine of transcriptLines) owner?.push(transcriptLine);
  return {
    common: common.join('\n'),
    sections: shareWords([...sections].map(([address, lines]) => ({ address, text: lines.join('\n') }))),
  };
}

/** Addresses listed one below the other share the text after the last of them. */
function shareWords(sections: Section[]): Section[] {
  for (let n = sections.length - 2; n >= 0; n--) {
    const { address, text } = sections[n]!;
    if (/^[\s<>:;,.]*$/.test(text.replaceAll(address, ''))) sections[n] = { address, text: sections[n + 1]!.text };
  }
  return sections;
}

const later =
  /\bwarning\b[^\n]{0,60}(?:delay|could not|not (?:yet )?(?:been )?(?:sent|delivered))|(?:has|have|is|been|message|delivery)[^\n.]{0,20} delayed|delivery (?:status notification \(delay\)|temporarily)|only a temporary failure report|(?:will|would) (?:continue|keep|be)[^\n.]{0,20}(?:try|retri)|you do not need to re-?send|no action is required (?:on|by)|still (?:being )?(?:trying|retried)|not yet been delivered/i;
const never = /permanent|giv(?:en|ing) up|will not (?:be|continue|retry|try)|no further|has failed|could not be delivered to one or more/i;

/** Whether the notice only reports a delay with further retries. */
export const isDelayed = (notice: string, subject: string): boolean =>
  later.test(`${subject}\n${notice.slice(0, 4_000)}`) && !never.test(notice.slice(0, 4_000));
