import type { Message } from '../../../../kernel/mail.ts';
import type { IncidentState } from '../../rules/board.ts';
import { clockOf, incidentLabels } from '../render/labels.ts';
import { oneLine } from './one-line.ts';

export interface UpdateFacts {
  address: string;
  page: { title: string; url: string; timezone: string };
  service: string;
  incident: { id: string; title: string };
  update: { at: string; body: string; state: IncidentState };
  token: string;
}

/** One update, word for word. Plain text looks the same everywhere and contains nothing to click by mistake. */
export function updateMail({ address, page, service, incident, update, token }: UpdateFacts): Omit<Message, 'id' | 'org'> {
  const leave = `${page.url}/unsubscribe/${token}`;
  return {
    to: address,
    subject: oneLine(`[${page.title}] ${incidentLabels[update.state]}: ${incident.title}`),
    text: `${oneLine(incident.title)}
${oneLine(service)} · ${incidentLabels[update.state]} · ${clockOf(page.timezone).moment(update.at)}

${update.body}

All updates: ${page.url}/history#${incident.id}

--
You get this because this address is subscribed to ${oneLine(page.title)}.
Unsubscribe: ${leave}
`,
    headers: {
      // RFC 8058: mail programs show a button for these two, and send the POST themselves.
      'List-Unsubscribe': `<${leave}>`,
      'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
      'Auto-Submitted': 'auto-generated',
      Precedence: 'bulk',
    },
  };
}
