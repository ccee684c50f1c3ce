"""The commands for agents, workspaces, documents and the tree."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from commonplace.cli import options as o
from commonplace.cli.agent_profile import ProfileEdit, agent_lines, read_profile
from commonplace.cli.door import Door, command
from commonplace.cli.lines import clean, counted, oneline
from commonplace.cli.moments import stamp
from commonplace.cli.quick import QuickGroup
from commonplace.errors import InvalidInput, PathNotFound
from commonplace.values.agent_profile import AgentProfile, ApprovalMode

if TYPE_CHECKING:
    from commonplace.values.principal import Owner
    from commonplace.values.tree import TreeNode

PANEL = "Organise"

agents = typer.Typer(
    cls=QuickGroup, help="Agents, and whether their memory is on.", no_args_is_help=True, rich_markup_mode=None
)
workspaces = typer.Typer(cls=QuickGroup, help="Workspaces.", no_args_is_help=True, rich_markup_mode=None)
resources = typer.Typer(
    cls=QuickGroup, help="Documents of your own, handed in to be searched.", no_args_is_help=True, rich_markup_mode=None
)

AgentId = Annotated[str, typer.Argument(metavar="AGENT", help="The agent's id.")]
ProfileFile = Annotated[
    Path | None,
    typer.Option("--profile", metavar="FILE", help="A JSON file that says how it is set up, or - for standard input."),
]
WorkspaceId = Annotated[str, typer.Argument(metavar="WORKSPACE", help="The workspace's id.")]
NewId = Annotated[str | None, typer.Option("--id", metavar="ID", help="Its id. Default: one of our own.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
ResourceUri = Annotated[str, typer.Argument(metavar="URI", help="The document's address, as `resource list` shows it.")]


# ---- agents


def list_agents(door: Door) -> None:
    """List the agents in reach, by name."""
    with door.open() as memory:
        rows = memory.agents()
    door.answer({"agents": rows}, lambda: _owners(rows))


def create_agent(
    door: Door,
    name: Annotated[str, typer.Argument(metavar="NAME", help="What people call it.")],
    id: NewId = None,
    memory_on: Annotated[bool, typer.Option("--memory/--no-memory", help="Whether its memory is on.")] = False,
    profile: ProfileFile = None,
) -> None:
    """Create an agent. Its memory is off until you switch it on."""
    changed = None if profile is None else read_profile(_content(profile))
    with door.open(create=True) as memory:
        agent = memory.create_agent(name, id=id, memory_enabled=memory_on, profile=changed)
    door.answer(agent, lambda: _print(agent_lines(agent)))


def show_agent(door: Door, id: AgentId) -> None:
    """Show one agent, and how it is set up."""
    with door.open() as memory:
        agent = memory.agent(id)
    door.answer(agent, lambda: _print(agent_lines(agent)))


def edit_agent(
    door: Door,
    id: AgentId,
    name: Annotated[str | None, typer.Option("--name", metavar="NAME", help="Its new name.")] = None,
    memory_on: Annotated[bool | None, typer.Option("--memory/--no-memory", help="Switch its memory on or off.")] = None,
    profile: ProfileFile = None,
    persona: Annotated[
        str | None, typer.Option("--persona", metavar="TEXT", help="Who it is, in a few sentences.")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            "--model", metavar="MODEL", help="Which of the allowed models speaks for it; '' for the usual one."
        ),
    ] = None,
    skill: Annotated[
        list[str] | None, typer.Option("--skill", metavar="FOLDER", help="A folder of skills. Repeat it.")
    ] = None,
    resource: Annotated[
        list[str] | None, typer.Option("--resource", metavar="FILE|URL", help="What its prompt has. Repeat it.")
    ] = None,
    tool: Annotated[
        list[str] | None,
        typer.Option("--tool", metavar="NAME", help="The only tools it may use. Repeat it; 'all' for every one."),
    ] = None,
    approval: Annotated[
        ApprovalMode | None, typer.Option("--approval", help="Whether it asks before it changes something.")
    ] = None,
) -> None:
    """
    Rename an agent, set it up, or switch its memory on or off. While it is off, no prompt has a section for it.

    Servers of tools (MCP) are set by a profile, a JSON file like the one that `commonplace agents show --json` has under `profile`.
    """
    edit = ProfileEdit(persona=persona, model=model, skills=skill, resources=resource, tools=tool, approval=approval)
    if name is None and memory_on is None and profile is None and edit.is_empty:
        raise InvalidInput(
            "Say what to change: --name, --memory, --no-memory, --profile, --persona, --model, --tool and others."
        )
    changed = None if profile is None else read_profile(_content(profile))
    with door.open() as memory:
        if not edit.is_empty:
            changed = edit.applied(changed or memory.agent(id).profile or AgentProfile())
        agent = memory.edit_agent(id, name=name, memory_enabled=memory_on, profile=changed)
    door.answer(agent, lambda: _print(agent_lines(agent)))


def remove_agent(door: Door, id: AgentId, yes: Yes = False) -> None:
    """Remove an agent and delete all that it remembers. `commonplace undo` brings each record back."""
    door.confirm(f"Remove the agent {clean(id)} and all that it remembers?", yes=yes, final=False)
    with door.open() as memory:
        count = memory.remove_agent(id)
    door.answer({"id": id, "records": count}, lambda: typer.echo(f"Removed, with {counted(count, 'record')}."))


# ---- workspaces


def list_workspaces(door: Door) -> None:
    """List the workspaces in reach, by name."""
    with door.open() as memory:
        rows = memory.workspaces()
    door.answer({"workspaces": rows}, lambda: _owners(rows))


def create_workspace(
    door: Door, name: Annotated[str, typer.Argument(metavar="NAME", help="What people call it.")], id: NewId = None
) -> None:
    """Create a workspace."""
    with door.open(create=True) as memory:
        workspace = memory.create_workspace(name, id=id)
    door.answer(workspace, lambda: _owners([workspace]))


def show_workspace(door: Door, id: WorkspaceId) -> None:
    """Show one workspace."""
    with door.open() as memory:
        workspace = memory.workspace(id)
    door.answer(workspace, lambda: _owners([workspace]))


def edit_workspace(
    door: Door, id: WorkspaceId, name: Annotated[str, typer.Option("--name", metavar="NAME", help="Its new name.")]
) -> None:
    """Rename a workspace."""
    with door.open() as memory:
        workspace = memory.edit_workspace(id, name=name)
    door.answer(workspace, lambda: _owners([workspace]))


def remove_workspace(door: Door, id: WorkspaceId, yes: Yes = False) -> None:
    """Remove a workspace and delete all that it remembers. `commonplace undo` brings each record back."""
    door.confirm(f"Remove the workspace {clean(id)} and all that it remembers?", yes=yes, final=False)
    with door.open() as memory:
        count = memory.remove_workspace(id)
    door.answer({"id": id, "records": count}, lambda: typer.echo(f"Removed, with {counted(count, 'record')}."))


# ---- documents


def add_resource(
    door: Door,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A text file, or - for standard input.")],
    uri: Annotated[
        str | None, typer.Option("--uri", metavar="URI", help="Its address. Default: the file's name.")
    ] = None,
    title: Annotated[str | None, typer.Option("--title", metavar="TITLE", help="What people call it.")] = None,
) -> None:
    """Hand in a document of your own, to be searched. Under an address that is known it becomes the next version."""
    content = _content(file)
    with door.open(create=True) as memory:
        resource = memory.put_resource(content, uri=uri or (None if str(file) == "-" else file.name), title=title)
    door.answer(resource, lambda: typer.echo(f"{clean(resource.uri)}\t{counted(resource.chunks or 0, 'passage')}"))
    if resource.quarantined:
        door.say("It is in quarantine: `commonplace review list` says why.")


def list_resources(
    door: Door,
    limit: Annotated[int, typer.Option("--limit", "-n", metavar="N", help="How many at most.", min=1, max=1000)] = 100,
    cursor: Annotated[str | None, typer.Option(metavar="CURSOR", help="Go on where the page before ended.")] = None,
) -> None:
    """List your documents, newest first."""
    with door.open() as memory:
        page = memory.resources(limit=limit, cursor=cursor)

    def lines() -> None:
        for resource in page.resources:
            typer.echo(f"{clean(resource.uri)}\t{stamp(resource.updated_at)}\t{clean(resource.title or '-')}")

    door.answer(page, lines)
    if page.cursor:
        door.say(f"There is more: --cursor {page.cursor}")


def show_resource(door: Door, uri: ResourceUri) -> None:
    """Show one of your documents, all of it."""
    with door.open() as memory:
        record = memory.resource(uri)
    door.records([record], record, lambda: door.screen.record(record))


def remove_resource(door: Door, uri: ResourceUri, yes: Yes = False) -> None:
    """Delete one of your documents. `commonplace undo` brings it back."""
    door.confirm(f"Delete {clean(uri)}?", yes=yes, final=False)
    with door.open() as memory:
        memory.remove_resource(uri)
    door.answer({"uri": uri, "deleted": True}, lambda: typer.echo(f"Deleted: {clean(uri)}"))


# ---- the tree


def tree(
    door: Door,
    uri: Annotated[
        str, typer.Argument(metavar="[ADDRESS]", help="A folder or a file, as this command shows them.")
    ] = "commonplace://",
    depth: Annotated[int, typer.Option("--depth", "-d", metavar="N", help="How many levels.", min=0, max=5)] = 1,
    layer: Annotated[
        Literal["L0", "L1", "L2"] | None,
        typer.Option("--layer", "-l", help="Print its abstract (L0), its overview (L1) or its text (L2) instead."),
    ] = None,
    make: Annotated[bool, typer.Option("--make", help="Make its abstract and its overview, and keep them.")] = False,
    after: Annotated[str | None, typer.Option(metavar="CURSOR", help="Go on where the page before ended.")] = None,
    everyone: o.Everyone = False,
) -> None:
    """Show memory as folders. A slash in a key or in a file's path makes a folder."""
    if make:
        with door.open() as memory:
            layers = memory.make_layers(uri)
        door.answer({"layers": layers}, lambda: _print([f"{text.name}\t{oneline(text.text)}" for text in layers]))
    elif layer is not None:
        with door.open() as memory:
            text = memory.layer(uri, layer)
        door.answer(text, lambda: typer.echo(clean(text.text)))
    else:
        with door.open() as memory:
            root = memory.tree(uri, depth=depth, everyone=everyone, after=after)
        door.answer(root, lambda: _print(_branch(root, 0)))
        if root.cursor:
            door.say(f"There is more: --after '{root.cursor}'")


def _branch(node: "TreeNode", level: int) -> list[str]:
    is_folder = node.node.node_type == "directory"
    name = clean(node.node.name or node.node.uri) + ("/" if is_folder and node.node.name else "")
    about = "" if node.files is None else counted(node.files, "record")
    line = f"{'  ' * level}{name}\t{about if is_folder else oneline(node.abstract or '')}".rstrip()
    below = [line for child in node.children for line in _branch(child, level + 1)]
    more = [f"{'  ' * (level + 1)}… {node.more} more"] if node.more else []
    return [line, *below, *more]


def _print(lines: list[str]) -> None:
    for line in lines:
        typer.echo(line)


def _owners(owners: "list[Owner]") -> None:
    for owner in owners:
        switch = ("on" if owner.memory_enabled else "off") if owner.kind == "agent" else "-"
        typer.echo(f"{clean(owner.id)}\t{clean(owner.name)}\t{switch}\t{stamp(owner.updated_at)}")


def _content(file: Path) -> str:
    try:
        return sys.stdin.read() if str(file) == "-" else file.expanduser().read_text(encoding="utf-8-sig")
    except FileNotFoundError as error:
        raise PathNotFound(f"There is no file {file}.", path=str(file)) from error
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{file} cannot be read as text: {error}.") from error


def add_to(app: typer.Typer) -> None:
    command(agents, "commonplace agents list", panel=PANEL, name="list")(list_agents)
    command(agents, "commonplace agents create 'Release notes' --id notes --memory", panel=PANEL, name="create")(
        create_agent
    )
    command(agents, "commonplace agents show notes", panel=PANEL, name="show")(show_agent)
    examples = (
        "commonplace agents set notes --memory",
        "commonplace agents set notes --persona 'You write release notes.' --tool read --tool grep",
    )
    command(agents, *examples, panel=PANEL, name="set")(edit_agent)
    command(agents, "commonplace agents remove notes --yes", panel=PANEL, name="remove")(remove_agent)
    app.add_typer(agents, name="agents", rich_help_panel=PANEL)
    command(workspaces, "commonplace workspace list", panel=PANEL, name="list")(list_workspaces)
    command(workspaces, "commonplace workspace create 'Web shop' --id web", panel=PANEL, name="create")(
        create_workspace
    )
    command(workspaces, "commonplace workspace show web", panel=PANEL, name="show")(show_workspace)
    command(workspaces, "commonplace workspace edit web --name 'Shop'", panel=PANEL, name="edit")(edit_workspace)
    command(workspaces, "commonplace workspace remove web --yes", panel=PANEL, name="remove")(remove_workspace)
    app.add_typer(workspaces, name="workspace", rich_help_panel=PANEL)
    command(resources, "commonplace resource add handbook.md --title Handbook", panel=PANEL, name="add")(add_resource)
    command(resources, "commonplace resource list", panel=PANEL, name="list")(list_resources)
    command(resources, "commonplace resource show handbook.md", panel=PANEL, name="show")(show_resource)
    command(resources, "commonplace resource remove handbook.md --yes", panel=PANEL, name="remove")(remove_resource)
    app.add_typer(resources, name="resource", rich_help_panel=PANEL)
    examples = (
        "commonplace tree commonplace://resources/web --depth 2",
        "commonplace tree commonplace://resources/web/docs/deploy.md --layer L0",
    )
    command(app, *examples, panel=PANEL)(tree)
