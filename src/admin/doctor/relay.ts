import { createTransport } from 'nodemailer';
import type { Config } from '../../kernel/config.ts';
import { type Finding, fail, ok, warn } from './finding.ts';

/** Connects, greets and logs in as a delivery would, and sends nothing. */
export async function checkRelay({ smtp_relay, mail_from }: Config): Promise<Finding> {
  if (!smtp_relay && mail_from)
    return ok('mail relay', `none is set; the product’s own mail leaves by itself while the domain of ${mail_from} is verified here`);
  if (!smtp_relay)
    return warn(
      'mail relay',
      'none is set, so no mail of the product’s own leaves; set QUARTERDECK_SMTP_RELAY to smtp://user:password@host:port',
    );
  const transport = createTransport(smtp_relay);
  Object.assign(transport.options, { connectionTimeout: 5_000, greetingTimeout: 5_000, socketTimeout: 5_000 });
  try {
    await transport.verify();
    return ok('mail relay', 'takes mail from us');
  } catch (error) {
    const { code, responseCode } = error as { code?: string; responseCode?: number };
    const why = responseCode ? `it answers ${responseCode}` : (code ?? 'no answer');
    return fail('mail relay', `QUARTERDECK_SMTP_RELAY does not take mail from us (${why}); check its address, user and password`);
  } finally {
    transport.close();
  }
}
