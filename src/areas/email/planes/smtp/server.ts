import { isFromHere } from '../../../../kernel/http/peer.ts';
import { CountedConnection, type CountedServer } from '../../../../kernel/smtp/index.ts';

// What we change of the library for those who log in: nobody is made to wait for the greeting, and passwords travel in the clear only on
// this machine.

export class SubmissionConnection extends CountedConnection {
  #hidesAuth = false;

  /** The library waits 100 ms to catch clients that talk too early. Those that log in are no strangers, and would only be slower. */
  override init(): void {
    this._setListeners(() => this.connectionReady());
  }

  override handler_EHLO(command: Buffer, callback: () => void): void {
    this.#hidesAuth = !this.#mayLogIn();
    super.handler_EHLO(command, callback);
    this.#hidesAuth = false;
  }

  override _isSupported(command: string): boolean {
    return !(this.#hidesAuth && command === 'AUTH') && super._isSupported(command);
  }

  override handler_AUTH(command: Buffer, callback: () => void): void {
    if (this.#mayLogIn()) {
      super.handler_AUTH(command, callback);
      return;
    }
    this.send(538, '5.7.11 say STARTTLS first: a key must not travel in the clear');
    callback();
  }

  #mayLogIn(): boolean {
    return this.secure || isFromHere(this._socket);
  }
}

export type SubmissionServer = CountedServer<SubmissionConnection>;
