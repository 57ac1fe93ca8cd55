import { type Mail, NotDelivered } from '../../../../kernel/mail.ts';
import { type Channel, furtherWords, PageFailed } from './channel.ts';

/** Mail cannot be looked up afterwards: one that is sent twice carries one Message-ID, and mail programs show it once. */
export const makeEmail = (mail: Mail): Channel => ({
  send: async (page) => {
    const { incident, ackUrl } = page;
    try {
      await mail.deliver({
        id: `page-${page.id}`,
        to: page.address,
        subject: `[${incident.serviceName}] ${incident.title}`,
        text: [
          `${incident.serviceName}: ${incident.title}`,
          ...furtherWords(page).flatMap((words) => ['', words]),
          ...(incident.description ? ['', incident.description] : []),
          '',
          page.about ? 'You acknowledged this incident. It is here:' : 'You are paged. Acknowledge, and nobody else is:',
          ackUrl,
          '',
          `Incident ${incident.id}`,
        ].join('\n'),
        headers: { 'Auto-Submitted': 'auto-generated', 'X-Quarterdeck-Incident': incident.id, 'X-Priority': '1', Importance: 'high' },
      });
      return { state: 'sent' };
    } catch (error) {
      if (error instanceof NotDelivered) throw new PageFailed(error.message, error.permanent, { cause: error });
      throw error;
    }
  },
  find: async () => undefined,
});
