"""Fine-tuning: a linear probe beside scikit-learn's logistic regression, rates by layer beside timm's groups."""

import re
import struct

import nbformat
import pytest
import torch
from PIL import Image
from sklearn.linear_model import LogisticRegression
from timm.optim import param_groups_layer_decay
from torchvision.transforms.functional import pil_to_tensor

from tests.reference import with_noise
from tests.weights.others import SMALL, changed, images_for, timm_model
from tools.lesson import LESSONS
from vit_tutorial import ViT, data
from vit_tutorial.interpret import inputs_of
from vit_tutorial.signs import draw_signs
from vit_tutorial.train import Recipe, draw, parameter_groups, train_step
from vit_tutorial.train.finetune import all_shifts, layer_groups, probe, read_folder, with_new_head
from vit_tutorial.weights.dialects import TIMM, their_name


@pytest.mark.parametrize("classes", [2, 5])
def test_a_probe_trains_the_last_layer_alone(classes):
    config = changed(num_classes=classes)
    model = with_noise(ViT(config), size=0.3)
    before = {name: p.clone() for name, p in model.named_parameters()}
    images, labels = images_for(config, 40).float(), torch.arange(40) % classes
    probe(model, images, labels)
    changes = {name for name, p in model.named_parameters() if not torch.equal(p, before[name])}
    assert changes == {"head.linear.weight", "head.linear.bias"}
    (features,) = inputs_of(model, [model.head.linear], images)
    reference = LogisticRegression(max_iter=5000).fit(features.double(), labels)
    expected = torch.tensor(reference.predict_log_proba(features.double()))
    torch.testing.assert_close(model(images).log_softmax(1).double(), expected, rtol=1e-3, atol=1e-4)


def test_a_small_c_pulls_the_layer_to_zero():
    config = changed(num_classes=3)
    images, labels, lengths = images_for(config, 30).float(), torch.arange(30) % 3, []
    for C in (1e-6, 0.01, 10.0):
        model = with_noise(ViT(config), size=0.3)
        (features,) = inputs_of(model, [model.head.linear], images)
        probe(model, images, labels, C=C)
        reference = LogisticRegression(C=C, max_iter=5000).fit(features.double(), labels)
        torch.testing.assert_close(model.head.linear.weight.detach().double(), torch.tensor(reference.coef_))
        lengths.append(model.head.linear.weight.norm().item())
    assert lengths[0] < 1e-2 < lengths[1] < lengths[2]


def test_a_new_head_is_zero_on_a_copy_that_learns():
    model = with_noise(ViT(changed(num_classes=7)), size=0.3).requires_grad_(False)
    new = with_new_head(model, ["a", "b", "c"])
    assert new.config.num_classes == 3 and new.labels == ["a", "b", "c"] and model.config.num_classes == 7
    assert not new.head.linear.weight.any() and not new.head.linear.bias.any() and new.head.linear.weight.shape[0] == 3
    assert all(p.requires_grad for p in new.parameters()) and not any(p.requires_grad for p in model.parameters())
    assert all(torch.equal(p, model.get_parameter(n)) for n, p in new.named_parameters() if "linear" not in n)


def test_all_shifts_are_the_25_by_up_to_two_pixels():
    images, labels = torch.rand(3, 2, 6, 7), torch.tensor([4, 0, 1])
    views, answers = all_shifts(images, labels)
    assert views.shape == (75, 2, 6, 7) and answers.tolist() == [4, 0, 1] * 25
    assert len({view.numpy().tobytes() for view in views}) == 75
    assert torch.equal(views[36:39], images), "the middle one moves nothing"
    assert torch.equal(views[0][:, 2:, 2:], images[0][:, :4, :5]), "the first goes down and to the right"


def printed(library: str) -> str:
    """Lesson 11's block of code for another library."""
    (path,) = [path for path in LESSONS if path.stem.startswith("11")]
    prose = "\n".join(cell.source for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "markdown")
    (block,) = [block for block in re.findall(r"```python\n(.+?)```", prose, re.S) if library in block]
    return block


def test_the_lines_for_timm_run_as_printed(tmp_path, monkeypatch):
    timm = pytest.importorskip("timm", reason="timm is not installed")
    for name in "ab":
        (tmp_path / "my_photos" / name).mkdir(parents=True)
        Image.new("RGB", (20, 30)).save(tmp_path / "my_photos" / name / "x.png")
    make = timm.create_model
    offline = lambda name, pretrained, **others: make(name, depth=2, **others)  # noqa: E731
    monkeypatch.setattr(timm, "create_model", offline)
    monkeypatch.chdir(tmp_path)
    space: dict = {}
    exec(printed("timm"), space)
    images, labels = next(iter(space["loader"]))
    assert images.shape == (2, 3, 518, 518) and sorted(labels.tolist()) == [0, 1]
    rates = {group["lr"] for group in space["optimizer"].param_groups}
    assert len(rates) == 4 and max(rates) == pytest.approx(1e-4) and min(rates) == pytest.approx(1e-4 * 0.65**3)


def test_the_lines_for_transformers_run_as_printed(tmp_path, monkeypatch):
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "image_size": 28, "num_labels": 7}
    transformers.Dinov2ForImageClassification(transformers.Dinov2Config(**sizes)).save_pretrained(tmp_path)
    kind, said = transformers.AutoModelForImageClassification, []
    load = kind.from_pretrained

    def offline(name, **others):
        model, report = load(str(tmp_path), output_loading_info=True, **others)
        said.append(report)
        return model

    monkeypatch.setattr(kind, "from_pretrained", offline)
    space: dict = {}
    exec(printed("transformers"), space)
    assert space["model"].classifier.out_features == 5
    (report,) = said
    assert {entry[0] for entry in report["mismatched_keys"]} == {"classifier.weight", "classifier.bias"}
    assert not report["missing_keys"] and not report["unexpected_keys"]


def test_layer_groups_scale_as_timms():
    ours, recipe = ViT(changed(depth=4)), Recipe(layer_decay=0.6, weight_decay=0.3)
    theirs = timm_model(depth=4).train()
    for p in theirs.parameters():
        p.requires_grad_(True)
    named = {id(p): name for name, p in theirs.named_parameters()}
    groups = param_groups_layer_decay(theirs, 0.3, theirs.no_weight_decay(), layer_decay=0.6)
    expected = {named[id(p)]: (g["lr_scale"], g["weight_decay"]) for g in groups for p in g["params"]}
    names = {id(p): their_name(name, TIMM) for name, p in ours.named_parameters()}
    groups = layer_groups(ours, recipe)
    got = {names[id(p)]: (g["scale"], g["weight_decay"]) for g in groups for p in g["params"]}
    assert sum(len(g["params"]) for g in groups) == len(got) == len(expected)
    expected |= {name: (1.0, 0.0) for name in ("norm.weight", "norm.bias")}  # with the head in BEiT's code, not timm's
    for name, (scale, decay) in expected.items():
        assert got[name] == (pytest.approx(scale), decay), name
    assert layer_groups(ours, Recipe()) == parameter_groups(ours, Recipe().weight_decay)


def test_each_layer_learns_at_its_own_rate():
    model = with_noise(ViT(SMALL), size=0.3).double()
    recipe = Recipe(layer_decay=0.5, weight_decay=0.0, learning_rate=1e-3, warm_up=0.0)
    optimizer = torch.optim.SGD(layer_groups(model, recipe))
    before = {name: p.clone() for name, p in model.named_parameters()}
    train_step(model, optimizer, images_for(SMALL), torch.tensor([0, 1, 2]), recipe, 0.0)
    shares = {"head.linear.weight": 1, "encoder.blocks.1.mlp.fc1.bias": 0.5, "cls_token.token": 0.125}
    for name, share in shares.items():
        parameter = model.get_parameter(name)
        torch.testing.assert_close(before[name] - parameter, 1e-3 * share * parameter.grad, rtol=1e-6, atol=1e-12)


def small(photo):
    return pil_to_tensor(photo.resize((2, 2)))


@pytest.fixture
def album(tmp_path):
    """A folder of two classes: a photo as PNG, transparent and deep inside one, another as JPEG; and hidden files."""
    for name, mode in (("cat/old/tom.png", "RGBA"), ("dog/rex.jpg", "L"), ("dog/a.bmp", "RGB")):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new(mode, (20, 30)).save(tmp_path / name)
    (tmp_path / "dog" / ".DS_Store").write_bytes(b"\0")
    (tmp_path / ".git").mkdir()
    return tmp_path


def test_a_folder_is_read_by_class_in_order_upright_and_opaque(album):
    images, labels, classes = read_folder(album, small)
    assert classes == ["cat", "dog"] and labels.tolist() == [0, 1, 1]
    assert images[0].eq(255).all() and images[1:].eq(0).all()  # on white where it is transparent
    assert read_folder(str(album), small)[2] == classes


def test_a_photo_that_is_none_and_a_class_that_lacks_are_named(album):
    for content in (b"ftypheic", b"", (album / "cat/old/tom.png").read_bytes()[:60]):
        (album / "cat" / "IMG_1.heic").write_bytes(content)
        with pytest.raises(ValueError, match=r"cat.IMG_1\.heic cannot be read as a photo .*save it as JPEG"):
            read_folder(album, small)
    (album / "cat" / "IMG_1.heic").unlink()
    (album / "empty").mkdir()
    with pytest.raises(ValueError, match=r"empty has no photos"):
        read_folder(album, small)
    with pytest.raises(ValueError, match=r"two at least, in .*cat, got \['old'\]"):
        read_folder(album / "cat", small)
    with pytest.raises(ValueError, match=r"rex\.jpg is no folder"):
        read_folder(album / "dog" / "rex.jpg", small)


def test_what_is_made_lies_on_the_cpu_or_beside_what_was_given_whatever_the_default_device(album):
    given, labels, recipe = torch.rand(3, 2, 6, 7), torch.tensor([4, 0, 1]), Recipe(batch_size=2)
    calls = {
        "draw": lambda: draw(9, recipe, 1),
        "draw_signs": lambda: draw_signs(2, seed=3),
        "all_shifts": lambda: all_shifts(given, labels),
        "read_folder": lambda: read_folder(album, lambda photo: data.prepare(photo, 8))[:2],
        "mnist": lambda: data.mnist("test"),
        "prepare": lambda: [data.batch("cat", size=8), data.thumbnail("cat"), *data.real_block()[1:]],
    }
    for name, call in calls.items():
        expected = call()
        with torch.device("meta"):  # the one other device that every machine has
            assert all(map(torch.equal, call(), expected)), name


SPLITS = {  # what train and val are called, and what lies in them
    "splits": (["train", "val"], ["cat", "dog"]),
    "a test without a class": (["Train", "Test"], ["cat"]),
    "once more within": (["training_set", "test_set"], ["x/cat", "y/cat"]),
    "folds": (["fold1", "fold2", "fold3"], ["fox"]),
    "small copies": (["cat", "dog"], ["thumbs"]),
}


@pytest.mark.parametrize("name", SPLITS)
def test_folders_that_hold_the_same_folders_are_no_classes_unless_they_are_said_to_be(name, tmp_path):
    above, below = SPLITS[name]
    for place in [f"{a}/{b}" for a in above for b in below]:
        (tmp_path / place).mkdir(parents=True)
        Image.new("RGB", (2, 2)).save(tmp_path / place / "x.png")
    with pytest.raises(ValueError, match=r"both hold \w+: if \w+ is a class, read each by itself; .* pass classes=\["):
        read_folder(tmp_path, small)
    assert read_folder(tmp_path, small, above)[1].unique().tolist() == [*range(len(above))]


def test_the_classes_of_training_keep_their_labels_where_one_is_missing(album):
    for classes in (["bee", "cat", "dog"], ("dog", "bee", "cat", "fox")):
        (album / "cat" / "empty").mkdir(exist_ok=True)
        _, labels, names = read_folder(album, small, classes)
        assert names == [*classes] and [names[n] for n in labels] == ["cat", "dog", "dog"]
    for classes in (["cat", "cow"], ["cat", "dog", "cat"], "catdog"):
        with pytest.raises(ValueError, match=r"^classes: expected different names, among them all of \['cat', 'dog'\]"):
            read_folder(album, small, classes)
    (album / "dog").rename(album / ".dog")
    (album / "cat" / "old" / "tom.png").unlink()
    with pytest.raises(ValueError, match=r"^folder: no class has photos in"):
        read_folder(album, small, ["cat", "dog"])


def test_what_is_hidden_or_a_systems_own_is_no_photo_at_any_depth(album):
    expected = read_folder(album, small)
    for name in (".cache/a.png", "cat/.ipynb_checkpoints/tom.png", "dog/@eaDir/rex.jpg/SMALL.jpg", "cat/old/Thumbs.db",
                 "dog/desktop.ini", "__MACOSX/cat/._tom.png", "dog/.thumbnails/b.png"):  # fmt: skip
        (album / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (2, 2)).save(album / name, "PNG")
    again = read_folder(album, small)
    assert torch.equal(again[0], expected[0]) and again[2] == expected[2]


@pytest.mark.parametrize("error", [RuntimeError, NotImplementedError, struct.error, EOFError])
def test_whatever_a_library_raises_on_a_photo_names_the_photo(error, album, monkeypatch):
    """AVIF raises RuntimeError where it is damaged, DDS NotImplementedError; some only when the pixels are read."""
    real = Image.Image.convert

    def fail(photo, *given):
        if photo.size == (21, 30):
            raise error("mine")
        return real(photo, *given)

    Image.new("L", (21, 30)).save(album / "dog" / "odd.png")
    monkeypatch.setattr(Image.Image, "convert", fail)
    with pytest.raises(ValueError, match=r"odd\.png cannot be read as a photo \(.*mine"):
        read_folder(album, small)


def test_a_photo_that_is_made_another_shape_is_named(album):
    with pytest.raises(ValueError, match=r"^prepare: .*\(3, 30, 20\) of the first photo, \(1, 30, 20\) of .*a\.bmp"):
        read_folder(album, lambda photo: pil_to_tensor(photo)[: 3 if photo.getpixel((0, 0))[0] else 1])


def test_what_goes_wrong_in_prepare_is_not_blamed_on_a_photo(album):
    with pytest.raises(OSError, match="mine"):
        read_folder(album, lambda photo: (_ for _ in ()).throw(OSError("mine")))
