import { ThingList } from '../../ui/thing-list.tsx';

/** A token lets a program act for you, as far as its scope allows. */
export default function Tokens() {
  return (
    <ThingList
      title="My tokens"
      operation="listTokens"
      create="createToken"
      createTo="/organization/tokens/new"
      acts={[
        {
          operation: 'updateToken',
          label: 'Change',
          params: (row) => [String(row['id'])],
          input: ({ name, enabled }) => ({ name, enabled }),
        },
        { operation: 'deleteToken', label: 'Delete', params: (row) => [String(row['id'])] },
      ]}
      example="quarterdeck tokens create --name ci --scope role=registry.editor"
      about="A token lets a program act for you, as far as its scope allows."
    />
  );
}
