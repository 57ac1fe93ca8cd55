// The text of a call. Only a pressed key counts, because voicemail also picks up.

const escaped = (text: string) =>
  text.replaceAll(/[^\x20-\x7e\u00a0-\ud7ff\ue000-\ufffd]|[&<>"']/g, (c) => (/[&<>"']/.test(c) ? `&#${c.charCodeAt(0)};` : ' '));
const say = (text: string) => `<Say>${escaped(text)}</Say>`;
const response = (...verbs: string[]) => `<?xml version="1.0" encoding="UTF-8"?><Response>${verbs.join('')}</Response>`;

/** Twilio's limit. */
const maxTwimlLength = 4_000;

const incidentKeys = 'Press 1 to acknowledge, 2 to resolve, star to repeat.';
/** Of a page that its person asked for. */
export const testKeys = 'Press 1 to confirm that it reached you.';

/** Repeats the text three times, or as often as fits: titles may be long, and escaping makes them longer. */
export function announce(incident: { title: string; serviceName: string }, action: string, more = '', keys = incidentKeys): string {
  const words = `Quarterdeck alert for ${incident.serviceName.slice(0, 60)}: ${incident.title.slice(0, 250)}. ${more ? `${more} ` : ''}${keys}`;
  const gather = `<Gather numDigits="1" timeout="8" action="${escaped(action)}" method="POST">${say(words)}</Gather>`;
  const times = (n: number) => response(...Array<string>(n).fill(gather), say('No key was pressed. Goodbye.'), '<Hangup/>');
  return [3, 2].map(times).find((twiml) => twiml.length <= maxTwimlLength) ?? times(1);
}

export const sayAndEnd = (text: string): string => response(say(text), '<Hangup/>');

/** The answer to a text message. */
export const reply = (text: string | undefined): string => response(...(text ? [`<Message>${escaped(text)}</Message>`] : []));
