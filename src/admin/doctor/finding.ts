/** One thing looked at: how it is, and for anything but `ok` what to do. */
export interface Finding {
  check: string;
  verdict: 'ok' | 'warn' | 'fail';
  says: string;
}

const finding =
  (verdict: Finding['verdict']) =>
  (check: string, says: string): Finding => ({ check, verdict, says });

export const ok = finding('ok');
export const warn = finding('warn');
export const fail = finding('fail');
