// The shape of generated/commands.json.

/** One operation as the command line offers it: `quarterdeck <words> <params…> --<field> …`. */
export interface Command {
  words: string[];
  area: string;
  operation: string;
  summary: string;
  description?: string;
  params: Field[];
  fields: Field[];
  /** A required field that is typed as an argument, behind the parameters. */
  argument?: string;
  body?: 'object' | 'list';
  /** Needs no token. */
  open?: boolean;
  /** Takes another credential than a personal token: a scheme of the contract, such as `mail` for send keys. */
  credential?: string;
  paged?: boolean;
  /** Answers with nothing: done is done. */
  silent?: boolean;
  /** Answers with something else than JSON. */
  streams?: boolean;
  /** Answers with events until one side ends it. */
  endless?: boolean;
  /** Answers with a secret that is never shown again. */
  secret?: boolean;
  /** For each list of objects in the answer: the columns of its table. */
  columns: Record<string, Column[]>;
  /** Commands that suit the answer, with `{field}` for a field of it. */
  next?: string[];
}

/** One column of a list's table; contract/columns.ts declares and explains them. */
export interface Column {
  key: string;
  or?: string;
  head?: string;
  as?: 'age' | 'time' | 'bytes' | 'duration' | 'state' | 'id' | 'count' | 'percent' | 'text';
  wide?: true;
  /** Declared by none: shown where `--columns` asks for it. */
  rest?: true;
}

export interface Field {
  name: string;
  flag: string;
  type: 'string' | 'integer' | 'number' | 'boolean' | 'object' | 'record';
  description?: string;
  required?: boolean;
  list?: boolean;
  nullable?: boolean;
  choices?: string[];
  /** What an object holds. */
  fields?: Field[];
  /** The kind of thing whose id it takes; `by`: a field beside it says which. */
  thing?: string | { by: string; of: Record<string, string> };
}

export interface Commands {
  areas: { name: string; description: string }[];
  commands: Command[];
}
