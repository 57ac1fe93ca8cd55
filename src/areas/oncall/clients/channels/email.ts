import { type Mail, NotDelivered } from '../../../../kernel/mail.ts';
import { pageSubject, pageText } from '../../rules/page-mail.ts';
import { type Channel, extraSentences, PageFailed } from './channel.ts';

/** Sent mail cannot be looked up. A mail that is sent twice has one Message-ID, so mail programs show it once. */
export const makeEmail = (mail: Mail): Channel => ({
  send: async (page, context) => {
    const { incident } = page;
    try {
      await mail.deliver({
        org: page.org,
        id: `page-${page.id}`,
        to: page.address,
        subject: pageSubject(page),
        text: pageText({
          ...page,
          ...(await context.loadAlerts()),
          further: extraSentences(page),
          isAcknowledged: page.about !== undefined,
        }),
        headers: {
          'Auto-Submitted': 'auto-generated',
          ...(page.isTest ? {} : { 'X-Quarterdeck-Incident': incident.id }),
          'X-Priority': '1',
          Importance: 'high',
        },
      });
      return { state: 'sent' };
    } catch (error) {
      if (error instanceof NotDelivered) throw new PageFailed(error.message, error.retryAdvice, { cause: error });
      throw error;
    }
  },
});
