import { CountedConnection } from '../../../../kernel/smtp/index.ts';

// What we change of the library for strangers: what one says without handing over any mail is bounded. The library's own delay of 100 ms
// before the greeting stays, and with it the refusal of those who do not wait for it.

/** Commands of one connection since its last message that was taken. */
const mostCommands = 500;

export class MxConnection extends CountedConnection {
  #commands = 0;

  override _onCommand(command: Buffer, callback: () => void): void {
    if (++this.#commands > mostCommands) {
      this.send(421, '4.7.0 too many commands without a message; come again when there is one');
      return;
    }
    super._onCommand(command, callback);
  }

  /** A message was taken: it may go on. */
  startAnew(): void {
    this.#commands = 0;
  }
}
