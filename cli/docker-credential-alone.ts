// docker-credential-quarterdeck without the server, for the package @quarterdeck/cli.
import { main } from './docker-credential.ts';

/** Put in by the build. */
declare const buildVersion: string;

void main(process.argv[2], buildVersion);
