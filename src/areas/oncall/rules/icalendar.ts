// A calendar as iCalendar text (RFC 5545). Written by hand: a library blocked the event loop for a second on the largest calendar.
import type { CalendarEvent } from './calendar.ts';

/** 20261115T203000Z */
const instant = (iso: string) => `${iso.slice(0, 19).replaceAll(/[-:]/g, '')}Z`;

/** Backslashes, separators and line ends inside a text (3.3.11); other control characters have no place in one. */
const escaped = (text: string) =>
  text
    .replaceAll(/[\\;,]/g, (c) => `\\${c}`)
    .replaceAll(/\r\n?|\n/g, '\\n')
    .replaceAll(/\p{Cc}/gu, '');

const maxLineOctets = 75;

const octetsOf = (character: string): number => {
  const code = character.codePointAt(0)!;
  return code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
};

/** A line has at most 75 octets. A longer one continues after a line end and a space, never inside a character (3.1). */
function folded(line: string): string {
  if (line.length * 3 <= maxLineOctets) return line;
  let text = '';
  let octets = 0;
  for (const character of line) {
    const size = octetsOf(character);
    if (octets + size > maxLineOctets) {
      text += '\r\n ';
      octets = 1;
    }
    text += character;
    octets += size;
  }
  return text;
}

const block = (...lines: string[]) => lines.map((line) => `${folded(line)}\r\n`).join('');

/** The refresh interval for calendar programs (RFC 7986, 5.7). */
const refresh = 'PT1H';

/** In UTC. */
export function formatCalendar(schedule: { name: string }, events: readonly CalendarEvent[], at: string): string {
  const name = escaped(`On call: ${schedule.name}`);
  const head = ['VERSION:2.0', 'PRODID:-//Quarterdeck//on-call//EN', 'METHOD:PUBLISH', `NAME:${name}`, `X-WR-CALNAME:${name}`];
  const written = events.map((event) =>
    block(
      'BEGIN:VEVENT',
      `UID:${escaped(event.uid)}`,
      'SEQUENCE:0',
      `DTSTAMP:${instant(at)}`,
      `DTSTART:${instant(event.startsAt)}`,
      `DTEND:${instant(event.endsAt)}`,
      `SUMMARY:${escaped(`${event.label} on call`)}`,
      'END:VEVENT',
    ),
  );
  return [
    block('BEGIN:VCALENDAR', ...head, `REFRESH-INTERVAL;VALUE=DURATION:${refresh}`, `X-PUBLISHED-TTL:${refresh}`),
    ...written,
    block('END:VCALENDAR'),
  ].join('');
}
