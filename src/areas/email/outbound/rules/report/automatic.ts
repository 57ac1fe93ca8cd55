import { type Fields, fieldOf } from './fields.ts';

const away =
  /out of (?:the )?office|on vacation|auto(?:matic)?[ -]?(?:reply|response|antwort)|automatische antwort|abwesenheit|r[ée]ponse automatique|absence du bureau|risposta automatica|respuesta autom[áa]tica|resposta autom[áa]tica|vacation|away from (?:my|the) (?:mail|desk|office)|不在|自動応答|自動返信|автоответ/i;

/** RFC 3834: an automatic reply, such as out of office. It says nothing about delivery. */
export function isAutomatic(fields: Fields, notice: string): boolean {
  const submitted = (fieldOf(fields, 'auto-submitted') ?? '').toLowerCase();
  if (submitted.startsWith('auto-replied')) return !isDaemon(fields);
  if (
    /vacation|autoreply|auto_reply/i.test(
      `${fieldOf(fields, 'precedence') ?? ''} ${fieldOf(fields, 'x-autoreply') === undefined ? '' : 'autoreply'}`,
    )
  )
    return true;
  if (isDaemon(fields)) return false;
  return away.test(fieldOf(fields, 'subject') ?? '') || (submitted !== '' && submitted !== 'no' && away.test(notice.slice(0, 2_000)));
}

/** Mail servers also mark their own reports as automatic replies. */
const isDaemon = (fields: Fields): boolean =>
  fieldOf(fields, 'x-failed-recipients') !== undefined || /mailer-daemon|postmaster|mail delivery|<>/i.test(fieldOf(fields, 'from') ?? '');
