import { classifyReply } from '../../rules/bounces/reply.ts';
import { readReport } from '../../rules/report/index.ts';
import { dsn } from '../feedback/mails.ts';

const commands: Record<string, string> = { mail: 'MAIL FROM', rcpt: 'RCPT TO', data: 'DATA', dot: 'end of DATA' };

/** Whether a refusal suppresses its recipient: as a reply, in a report with the command, and in one without it (empty stage). */
export function hardness(line: string, stage = 'rcpt'): { reply: boolean; report: boolean } {
  const [, code, enhanced, text] = /^(\d{3})[ -](?:(\d\.\d+\.\d+) )?(.*)$/.exec(line)!;
  const reply = classifyReply({ code: Number(code), enhanced, text: text!, stage });
  const command = commands[stage];
  if (command === undefined && stage !== '') return { reply: reply.bounceType === 'hard', report: false };
  const diagnostic = command === undefined ? line : `${line} (in reply to ${command} command)`;
  const status = enhanced ?? `${code![0]}.0.0`;
  const [said] = readReport(dsn({ address: 'bob@far.example', status, diagnostic })).recipients;
  return { reply: reply.bounceType === 'hard', report: said!.bounceType === 'hard' };
}

/** The refusals whose classification differs from the expected one. */
export function judgedOtherwise(lines: string, isHard: boolean, stage = 'rcpt'): string[] {
  return lines
    .trim()
    .split('\n')
    .filter((line) => {
      const { reply, report } = hardness(line, stage);
      return reply !== isHard || report !== isHard;
    });
}
